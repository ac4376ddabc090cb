package apitest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/forkbox/forkbox/api"
)

// Attack is a request that a program of good will does not send.
type Attack struct {
	Route  *api.Route
	Kind   string // what is odd about it
	Target string // path and query, as they go over the wire
	Header http.Header
	Body   []byte
}

func (a Attack) String() string {
	return fmt.Sprintf("%s (%s): %s %.300s %v %.500q", a.Route.Name, a.Kind, a.Route.Method, a.Target, a.Header, a.Body)
}

// Attacker derives attacks on routes from what the OpenAPI document says of them.
// The same seed makes the same attacks.
type Attacker struct {
	*rand.Rand
	// Known are names for the parameters of paths that are there.
	Known map[string]string
}

// NewAttacker makes one.
func NewAttacker(seed uint64, known map[string]string) *Attacker {
	return &Attacker{rand.New(rand.NewPCG(seed, seed)), known}
}

type parameter struct {
	In, Name string
	Schema   schema
}

// operation is what the document says of a route.
type operation struct {
	ID          string `json:"operationId"`
	Parameters  []parameter
	RequestBody struct {
		Content map[string]struct{ Schema schema }
	}
}

var document = sync.OnceValue(func() (doc struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}) {
	if err := json.Unmarshal(api.OpenAPI, &doc); err != nil {
		panic(err)
	}
	return doc
})

// Draw makes an attack on a route.
func (a *Attacker) Draw(route *api.Route) Attack {
	op := document().Paths[route.Path][strings.ToLower(route.Method)]
	d := &draft{Attacker: a, op: op, path: map[string]string{}, query: url.Values{}, header: http.Header{}}
	if op.ID != route.Name {
		panic("the document does not have " + route.Name)
	}
	d.beGood()
	all := oddities(op)
	odd := all[a.IntN(len(all))]
	odd.make(d)
	return Attack{Route: route, Kind: odd.kind, Target: d.target(route), Header: d.header, Body: d.body}
}

// draft is a request that is being made.
type draft struct {
	*Attacker
	op     operation
	path   map[string]string // escaped
	query  url.Values
	raw    string // after the query
	header http.Header
	doc    any // of the body
	body   []byte
}

// beGood makes it one that the document allows.
func (d *draft) beGood() {
	for _, p := range d.op.Parameters {
		if p.In == "path" {
			d.path[p.Name] = url.PathEscape(d.Known[p.Name])
		} else if d.IntN(2) == 0 {
			d.query.Set(p.Name, fmt.Sprint(d.sample(p.Schema, 0)))
		}
	}
	if of, ok := d.op.RequestBody.Content["application/json"]; ok {
		d.doc = d.sample(of.Schema, 0)
		d.setDoc()
	} else if len(d.op.RequestBody.Content) > 0 {
		d.body = []byte(d.pick("", "some bytes", strings.Repeat("x", 2000)))
	}
}

func (d *draft) setDoc() { d.body, _ = json.Marshal(d.doc) }

func (d *draft) target(route *api.Route) string {
	path := route.Path
	for name, value := range d.path {
		path = strings.Replace(path, "{"+name+"}", value, 1)
	}
	query := d.query.Encode() + d.raw
	if query == "" {
		return path
	}
	return path + "?" + query
}

// oddity is a way of being wrong.
type oddity struct {
	kind string
	make func(*draft)
}

// oddities are those that make sense for an operation.
func oddities(op operation) []oddity {
	all := []oddity{
		{"nothing", func(*draft) {}},
		{"query", (*draft).spoilQuery}, {"header", (*draft).spoilHeader}, {"body", (*draft).spoilText},
	}
	if slices.ContainsFunc(op.Parameters, func(p parameter) bool { return p.In == "path" }) {
		all = append(all, oddity{"path", (*draft).spoilPath}, oddity{"path", (*draft).spoilPath})
	}
	if _, ok := op.RequestBody.Content["application/json"]; ok {
		all = append(all, oddity{"value", (*draft).spoilValue}, oddity{"value", (*draft).spoilValue}, oddity{"value", (*draft).spoilValue},
			oddity{"member", (*draft).spoilMember}, oddity{"text", (*draft).spoilText}, oddity{"text", (*draft).spoilText})
	}
	return all
}

func (d *draft) spoilPath() {
	for _, p := range d.op.Parameters {
		if p.In == "path" && (len(d.path) == 1 || d.IntN(len(d.path)) == 0) {
			d.path[p.Name] = d.pick("..", ".", "%2e%2e", "%2f", "..%2f..%2fetc", "%00", "x%00y", "", "/", "%", "%zz", "%25", "%ff%fe", "%0a%0d", "%F0%9F%A6%8A", "a%CC%81",
				strings.Repeat("a", 5000), strings.Repeat("%2e%2e%2f", 500), "-1", "18446744073709551616", "*", "%5C", "@newest", "@", "b@", "b@x", ";x", "x%3fy%23z", "%E2%80%AE")
		}
	}
}

func (d *draft) spoilQuery() {
	var known []string
	for _, p := range d.op.Parameters {
		if p.In == "query" {
			known = append(known, p.Name)
		}
	}
	if len(known) == 0 || d.IntN(4) == 0 {
		d.raw = d.pick("&unknown=1", "&%zz=1", "&%00=%00", "&=", "&;", "&a;b", "&"+strings.Repeat("x", 9000), "&path=x&path=y", "&limit=1&limit=1")
		return
	}
	d.query.Set(known[d.IntN(len(known))], d.oddText())
}

func (d *draft) spoilHeader() {
	headers := [][2]string{
		{"Range", "bytes=0-0,2-3,5-"}, {"Range", "bytes=99999999999999999999-"}, {"Range", "bytes=-"}, {"Range", "x"},
		{"If-Match", `"a","b"`}, {"If-None-Match", "x"}, {"If-Match", "\x80"}, {"If-Range", `W/"x"`},
		{"Accept", "text/event-stream"}, {"Accept", strings.Repeat("a,", 2000)}, {"Last-Event-ID", "-1"}, {"Last-Event-ID", "99999999999999999999"},
		{"Content-Type", "text/plain"}, {"Content-Type", "multipart/form-data"}, {"Content-Encoding", "gzip"}, {"Expect", "100-continue"},
		{"X-Request-Id", strings.Repeat("x", 300)}, {"Upgrade", "nothing"}, {"Upgrade", "websocket"}, {"Upgrade", "forkbox"}, {"Origin", "null"}, {"Host", "elsewhere"},
		{"X-Http-Method-Override", "DELETE"}, {"Content-Length", "0"}, {"Authorization", "Bearer"}, {"Authorization", "Bearer fbx_x_y"}, {"Cookie", strings.Repeat("c", 9000)},
	}
	for range 1 + d.IntN(2) {
		h := headers[d.IntN(len(headers))]
		d.header.Set(h[0], h[1])
		if h[0] == "Upgrade" {
			d.header.Set("Connection", "Upgrade")
			d.header.Set("Sec-WebSocket-Version", "13")
			d.header.Set("Sec-WebSocket-Key", d.pick("dGhlIHNhbXBsZSBub25jZQ==", "x"))
		}
	}
}

// spoilText breaks the body as text.
func (d *draft) spoilText() {
	switch d.IntN(4) {
	case 0:
		d.body = []byte(d.pick("", "null", "[]", "{}", `""`, "0", "{", "}", "{}{}", "\xef\xbb\xbf{}", "\xff\xfe{\x00}\x00", "\x00", `{"":""}`, "{\"\xff\":1}", "not JSON", "{}x",
			strings.Repeat("[", 50_000), strings.Repeat(`{"a":`, 50_000), `{"name":"`+strings.Repeat("x", 100_000)+`"}`))
	case 1:
		if len(d.body) > 0 {
			d.body = d.body[:d.IntN(len(d.body))]
		}
	case 2:
		if len(d.body) > 0 {
			d.body[d.IntN(len(d.body))] = byte(d.IntN(256))
		}
	default:
		d.body = append(d.body, d.body...)
	}
}

// spoilMember leaves out a member, adds one that is not known, or has one twice.
func (d *draft) spoilMember() {
	doc, ok := d.doc.(map[string]any)
	if !ok {
		return
	}
	names := keysOf(doc)
	switch odd := d.IntN(3); {
	case odd == 0 || len(names) == 0:
		doc[d.pick("unknown", "NAME", "__proto__", "", "\x00", strings.Repeat("k", 3000))] = d.oddValue()
		d.setDoc()
	case odd == 1:
		delete(doc, names[d.IntN(len(names))])
		d.setDoc()
	default:
		name, _ := json.Marshal(names[d.IntN(len(names))])
		d.body = fmt.Appendf(nil, "%s,%s:null}", strings.TrimSuffix(string(d.body), "}"), name)
	}
}

// spoilValue puts something else somewhere into the body.
func (d *draft) spoilValue() {
	d.doc = d.spoilIn(d.doc)
	d.setDoc()
}

func (d *draft) spoilIn(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if names := keysOf(v); len(names) > 0 && d.IntN(6) > 0 {
			name := names[d.IntN(len(names))]
			v[name] = d.spoilIn(v[name])
			return v
		}
	case []any:
		if len(v) > 0 && d.IntN(4) > 0 {
			i := d.IntN(len(v))
			v[i] = d.spoilIn(v[i])
			return v
		}
	}
	return d.oddValue()
}

func (d *draft) oddValue() any {
	switch d.IntN(4) {
	case 0:
		return json.Number(d.pick("-1", "0", "0.5", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e19", "1e308", "99999999999999999999999999", "4294967296", "-0"))
	case 1:
		return d.oddText()
	case 2:
		return []any{nil, true, false, []any{}, map[string]any{}, []any{nil}, []any{[]any{}}, map[string]any{"a": nil}}[d.IntN(8)]
	}
	return slices.Repeat([]any{d.oddText()}, d.IntN(40))
}

// oddText is what a text can be at worst. None of it names a file of this machine
// that could come to harm.
func (d *draft) oddText() string {
	return d.pick("", " ", "\x00", "x\x00y", "..", "../../../../x", "/", "/dev/null", "/dev/zero", "/proc/self/mem", "-", "--help", "-rf", "%s%n", "é", "\u202e", "\U0001F98A", "\xff\xfe",
		"\n", "\r\nX: y", "$(x)", "'", `"`, "a=b", "=", "NaN", "-1", "1e9", "99999999999999999999", "true", "null", "*", "?", "[", "box.*", ",", "@", "b@", "b", "dir:", "dir:..", "base:", "oci:",
		"0001-01-01T00:00:00Z", "99999999-01-01", "latest", "host", "none", "policy", strings.Repeat("long", 1000), strings.Repeat("a/", 3000), strings.Repeat("../", 300))
}

func keysOf(doc map[string]any) []string {
	names := make([]string, 0, len(doc))
	for name := range doc {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (a *Attacker) pick(all ...string) string { return all[a.IntN(len(all))] }
