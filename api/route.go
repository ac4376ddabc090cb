package api

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
)

// Route is something that a daemon can be asked. All of them are in routes.go.
type Route struct {
	Name   string // of the operation, for programs: "createBox"
	Method string
	Path   string // with names in braces: "/v1/boxes/{box}"
	Scopes []Scope
	Doc    string // a sentence
	Query  []Param
	Body   Body
	Answer Answer
	// In and Out are the types of the body and of the answer, of one line of
	// it where it has many; nil where there is none.
	In, Out reflect.Type
	Status  int // of an answer that is not an error
	// Keyed says that a request can have the header [KeyHeader]: one that has the
	// same again is answered as the first was, and nothing is done twice.
	Keyed bool
	// Long says that it may take long: while it is done it is an [forkbox.Operation].
	// Async says that its caller may choose not to wait for it.
	Long, Async bool
	// Match says what the header If-Match of a request is about.
	Match Match
	// Lines is what each line is of the answer, with status 200, of a command
	// whose output is asked for; nil where none can be.
	Lines reflect.Type
}

// Body says what a request carries.
type Body string

const (
	NoBody Body = "" // none, or an empty object
	// JSONBody is an object that has to be there, if only {}: a request that
	// lost its body on the way must not mean everything.
	JSONBody Body = "json"
	// OptionalBody may be missing.
	OptionalBody Body = "optional"
	// ExactBody is of a request that deletes, or changes what holds: null for
	// nothing said, a name twice or in another case are mistakes as well.
	ExactBody Body = "exact"
	// RawBody is bytes, however many.
	RawBody Body = "raw"
)

// Answer says what comes back.
type Answer string

const (
	JSONAnswer Answer = "json"
	// LinesAnswer is JSON documents, one on each line, each sent as soon as it
	// is there.
	LinesAnswer Answer = "lines"
	// EventsAnswer is server-sent events.
	EventsAnswer Answer = "events"
	RawAnswer    Answer = "raw"
	// SocketAnswer is a connection that is upgraded.
	SocketAnswer Answer = "socket"
)

// Param is a parameter of the query.
type Param struct {
	Name string
	Type ParamType
	Doc  string
	Many bool // may be there several times
}

// ParamType is what a parameter can be.
type ParamType string

const (
	Text ParamType = "string"
	Bool ParamType = "boolean" // 1, true, yes; 0, false, no
	Int  ParamType = "integer" // not negative
)

// Match is what a request can say that has to be as it was seen before.
type Match string

const (
	NoMatch   Match = ""
	BoxMatch  Match = "box"  // the tag of the box that is in the path
	FileMatch Match = "file" // the tag of a file
)

// KeyHeader is the header that has a caller's name for one request, and
// ReplayedHeader that of an answer that was given before.
const (
	KeyHeader      = "Idempotency-Key"
	ReplayedHeader = "Idempotency-Replayed"
)

// Call is a route that takes an In and answers with an Out: handlers and client
// are both written to it, so that the compiler sees to it that they agree.
type Call[In, Out any] struct{ *Route }

// None is the type of what is not there.
type None struct{}

// URL is the path of a request, with a value for each name in braces, in their
// order, and the query.
func (r *Route) URL(query url.Values, values ...string) string {
	var b strings.Builder
	rest := r.Path
	for {
		before, after, ok := strings.Cut(rest, "{")
		b.WriteString(before)
		if !ok {
			break
		}
		_, rest, _ = strings.Cut(after, "}")
		b.WriteString(segment(values[0]))
		values = values[1:]
	}
	if len(query) > 0 {
		b.WriteByte('?')
		b.WriteString(query.Encode())
	}
	return b.String()
}

// segment escapes a name so that it stays one segment of a path, whatever it
// is: "", "." and ".." would be cleaned away. No box can be called "%".
func segment(name string) string {
	switch name {
	case "", ".", "..":
		return "%25"
	}
	return url.PathEscape(name)
}

// Noun is what a route is about: the first word of its path, or the one below a
// box.
func (r *Route) Noun() string {
	parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(r.Path, "/"), "v1/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "boxes":
		return parts[2]
	case !strings.HasPrefix(r.Path, "/v1/"):
		return "daemon"
	}
	return parts[0]
}

// Param finds a parameter of the query by its name.
func (r *Route) Param(name string) (Param, bool) {
	for _, p := range r.Query {
		if p.Name == name {
			return p, true
		}
	}
	return Param{}, false
}

// table is every route, in the order of routes.go.
var table []*Route

// Routes is the whole API.
func Routes() []*Route { return table }

// an option of a row in the table.
type option func(*Route)

func row[In, Out any](method, name, path string, scope Scope, doc string, options []option) Call[In, Out] {
	r := &Route{Name: name, Method: method, Path: path, Doc: doc, Answer: JSONAnswer, Status: http.StatusOK, In: typeOf[In](), Out: typeOf[Out]()}
	if scope != Open {
		r.Scopes = []Scope{scope}
	}
	if r.In != nil {
		r.Body = JSONBody
	}
	r.Keyed = method == http.MethodPost && scope != Read // the other methods can be repeated as they are
	for _, set := range options {
		set(r)
	}
	if r.Out == nil && r.Answer == JSONAnswer {
		r.Status = http.StatusNoContent
	}
	table = append(table, r)
	return Call[In, Out]{r}
}

func typeOf[T any]() reflect.Type {
	if t := reflect.TypeFor[T](); t != reflect.TypeFor[None]() {
		return t
	}
	return nil
}

func get[Out any](name, path string, scope Scope, doc string, options ...option) Call[None, Out] {
	return row[None, Out](http.MethodGet, name, path, scope, doc, options)
}

func post[In, Out any](name, path string, scope Scope, doc string, options ...option) Call[In, Out] {
	return row[In, Out](http.MethodPost, name, path, scope, doc, options)
}

func put[In, Out any](name, path string, scope Scope, doc string, options ...option) Call[In, Out] {
	return row[In, Out](http.MethodPut, name, path, scope, doc, options)
}

func patch[In, Out any](name, path string, scope Scope, doc string, options ...option) Call[In, Out] {
	return row[In, Out](http.MethodPatch, name, path, scope, doc, options)
}

func remove(name, path string, scope Scope, doc string, options ...option) Call[None, None] {
	return row[None, None](http.MethodDelete, name, path, scope, doc, options)
}

// also is a further scope that a route needs.
func also(scope Scope) option { return func(r *Route) { r.Scopes = append(r.Scopes, scope) } }

// made is for what makes something: it answers 201.
func made(r *Route) { r.Status = http.StatusCreated }

func optional(r *Route) { r.Body = OptionalBody }
func exact(r *Route)    { r.Body = ExactBody }
func takesRaw(r *Route) { r.Body = RawBody }
func lines(r *Route)    { r.Answer = LinesAnswer }
func givesRaw(r *Route) { r.Answer = RawAnswer }
func keyed(r *Route)    { r.Keyed = true }
func long(r *Route)     { r.Long = true }
func async(r *Route)    { r.Long, r.Async = true, true }
func ifBox(r *Route)    { r.Match = BoxMatch }
func ifFile(r *Route)   { r.Match = FileMatch }
func socket(r *Route) {
	r.Answer, r.Status, r.Keyed = SocketAnswer, http.StatusSwitchingProtocols, false
}

// streamed is for commands that a caller without an upgrade waits for.
func streamed(r *Route) {
	r.Lines = typeOf[OutputLine]()
	text("stream", "Answer with the output as it comes: lines (JSON documents), raw (stdout alone) or merged (stdout and stderr). The exit code of the last two is the trailer Forkbox-Exit-Code.")(r)
}

func text(name, doc string) option { return query(Param{Name: name, Type: Text, Doc: doc}) }
func texts(name, doc string) option {
	return query(Param{Name: name, Type: Text, Doc: doc, Many: true})
}
func flag(name, doc string) option   { return query(Param{Name: name, Type: Bool, Doc: doc}) }
func number(name, doc string) option { return query(Param{Name: name, Type: Int, Doc: doc}) }

func query(p Param) option { return func(r *Route) { r.Query = append(r.Query, p) } }

// paged is for lists that may be long: "next" in an answer is the cursor of the
// rest.
func paged(r *Route) {
	number("limit", "No more than so many.")(r)
	text("cursor", "Go on where an answer ended: its next.")(r)
}
