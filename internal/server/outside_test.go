package server

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/access"
	"github.com/forkbox/forkbox/internal/ledger"
	"github.com/forkbox/forkbox/internal/listen"
)

// reached is a server that listens beyond its socket, too.
type reached struct {
	*running
	url    string
	tokens *access.Tokens
}

func startOutside(t *testing.T, change ...func(*Server)) *reached {
	t.Helper()
	records, err := ledger.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { records.Close() })
	users := &access.Users{}
	tokens, err := access.OpenTokens(t.Context(), records, users, os.Geteuid(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tokens.Close(context.Background()) })
	at, err := listen.ParseAddress("http://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := at.Open(&listen.Limit{All: 100, Each: 100})
	if err != nil {
		t.Fatal(err)
	}
	set := func(s *Server) {
		s.Tokens, s.Users = tokens, users
		s.Outside = &Outside{Listeners: []*listen.Listener{l}, Names: listen.NewNames("build.example.com")}
	}
	return &reached{start(t, append([]func(*Server){set}, change...)...), l.URL, tokens}
}

// token makes one of the daemon's own user.
func (r *reached) token(t *testing.T, scopes ...string) string {
	t.Helper()
	owner, err := (&access.Users{}).ByUID(os.Geteuid())
	if err != nil {
		t.Fatal(err)
	}
	by := &access.Principal{Owner: owner, Kind: access.Peer, Scopes: access.AllScopes}
	_, text, err := r.tokens.Create(t.Context(), by, access.TokenSpec{Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// ask makes a request from outside. Headers are "Name: value".
func (r *reached) ask(t *testing.T, method, path, token, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if req.Header.Set(name, value); name == "Host" {
			req.Host = value
		}
	}
	web := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp, string(text)
}

func TestATokenIsNeededFromOutside(t *testing.T) {
	r := startOutside(t)
	good := r.token(t, "read")
	id := strings.Split(good, "_")[1]
	wrong := []string{"", "x", "fbx_", good + "a", good[:len(good)-1], "fbx_" + id + "_" + strings.Repeat("a", 52), "fbx_aaaaaaaaaaaa_" + strings.Repeat("a", 52)}
	answers := map[string]bool{}
	for _, token := range wrong[1:] {
		resp, text := r.ask(t, "GET", "/v1/boxes", token, "")
		if resp.StatusCode != 401 || !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: %d %v", token, resp.StatusCode, resp.Header)
		}
		before, _, _ := strings.Cut(text, `"request_id"`)
		answers[before] = true
	}
	if len(answers) != 1 {
		t.Errorf("the answers differ: %v", answers)
	}
	for name, header := range map[string]string{"none": "X: y", "basic": "Authorization: Basic eDp5", "bare": "Authorization: " + good} {
		if resp, text := r.ask(t, "GET", "/v1/boxes", "", "", header); resp.StatusCode != 401 {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text)
		}
	}
	if resp, text := r.ask(t, "GET", "/v1/boxes", good, ""); resp.StatusCode != 200 {
		t.Errorf("a good one: %d %s", resp.StatusCode, text)
	}
	if resp, _ := r.ask(t, "GET", "/v1/version", "", ""); resp.StatusCode != 200 {
		t.Errorf("version: %d", resp.StatusCode)
	}
}

func TestARevokedTokenSaysSoToItsHolderOnly(t *testing.T) {
	r := startOutside(t)
	token := r.token(t, "all")
	id := strings.Split(token, "_")[1]
	if resp, text := r.ask(t, "DELETE", "/v1/tokens/"+id, token, ""); resp.StatusCode != 200 || !strings.Contains(text, id) {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	if resp, text := r.ask(t, "GET", "/v1/boxes", token, ""); resp.StatusCode != 401 || !strings.Contains(text, "was revoked") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	if resp, text := r.ask(t, "GET", "/v1/boxes", "fbx_"+id+"_"+strings.Repeat("a", 52), ""); resp.StatusCode != 401 || strings.Contains(text, "revoked") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

// A page that a browser shows, and a name that was pointed at this machine, get
// nothing, whatever they know.
func TestPagesAndReboundNamesGetNothing(t *testing.T) {
	r := startOutside(t)
	token := r.token(t, "all")
	host := strings.TrimPrefix(r.url, "http://")
	_, port, _ := net.SplitHostPort(host)
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"an address":          {nil, 200},
		"localhost":           {[]string{"Host: localhost:" + port}, 200},
		"a forwarded port":    {[]string{"Host: localhost:9999"}, 200},
		"a configured name":   {[]string{"Host: Build.Example.com."}, 200},
		"IPv6 loopback":       {[]string{"Host: [::1]:" + port}, 200},
		"its own origin":      {[]string{"Origin: " + r.url, "Sec-Fetch-Site: same-origin"}, 200},
		"a rebound name":      {[]string{"Host: attacker.example:" + port}, 403},
		"another address":     {[]string{"Host: 192.0.2.1:" + port}, 403},
		"a name below":        {[]string{"Host: x.localhost:" + port}, 403},
		"another origin":      {[]string{"Origin: https://attacker.example"}, 403},
		"another port":        {[]string{"Origin: http://127.0.0.1:1"}, 403},
		"another scheme":      {[]string{"Origin: https://" + host}, 403},
		"a sandboxed page":    {[]string{"Origin: null"}, 403},
		"a request by an img": {[]string{"Sec-Fetch-Site: cross-site"}, 403},
		"a page of the site":  {[]string{"Sec-Fetch-Site: same-site"}, 403},
	} {
		for _, path := range []string{"/v1/boxes", "/v1/version", "/v1/none"} {
			resp, text := r.ask(t, "GET", path, token, "", c.headers...)
			want := c.status
			if path == "/v1/none" && want == 200 {
				want = 404
			}
			if resp.StatusCode != want {
				t.Errorf("%s: %s: %d %s", name, path, resp.StatusCode, text)
			}
			for header := range resp.Header {
				if strings.HasPrefix(header, "Access-Control-") {
					t.Errorf("%s: %s", name, header)
				}
			}
		}
	}
}

func TestARequestKeepsItsID(t *testing.T) {
	r := startOutside(t)
	for sent, kept := range map[string]bool{"abc-1.2_X": true, "": false, "a b": false, strings.Repeat("x", 65): false, strings.Repeat("x", 64): true, "é": false} {
		resp, text := r.ask(t, "GET", "/v1/boxes", "", "", "X-Request-Id: "+sent)
		got := resp.Header.Get("X-Request-Id")
		if (got == sent) != kept || got == "" || !strings.Contains(text, `"request_id":"`+got+`"`) {
			t.Errorf("%q: %q %s", sent, got, text)
		}
	}
}

// A token holds on the socket, too: who shows one has no more than it.
func TestAPeerThatShowsATokenHasNoMoreThanIt(t *testing.T) {
	r := startOutside(t)
	req, _ := http.NewRequest("POST", "http://x/v1/boxes", strings.NewReader("{}"))
	req.Header.Set("Authorization", "Bearer "+r.token(t, "read"))
	web := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", r.socket)
		}}}
	resp, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 403 || len(r.engine.created) > 0 {
		t.Errorf("%d, created %v", resp.StatusCode, r.engine.created)
	}
}

// A daemon of root's serves the group's members, and those who show a token of
// their own.
func TestTheGroupIsServed(t *testing.T) {
	s := New(Config{Engine: newFake(), Group: 77})
	s.uid = 0
	for name, c := range map[string]struct {
		who    access.Principal
		served bool
	}{
		"root":             {access.Principal{Kind: access.Peer}, true},
		"a member":         {access.Principal{Kind: access.Peer, Owner: forkbox.Owner{UID: 5, GID: 5, Groups: []int{4, 77}}}, true},
		"by its own group": {access.Principal{Kind: access.Peer, Owner: forkbox.Owner{UID: 5, GID: 77}}, true},
		"another user":     {access.Principal{Kind: access.Peer, Owner: forkbox.Owner{UID: 5, GID: 5, Groups: []int{4}}}, false},
		"a token":          {access.Principal{Kind: access.Token, Owner: forkbox.Owner{UID: 5, GID: 5}}, true},
	} {
		if err := s.serves(&c.who); (err == nil) != c.served {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.Group = -1
	if err := s.serves(&access.Principal{Kind: access.Peer, Owner: forkbox.Owner{UID: 5}}); err != nil {
		t.Errorf("without a group: %v", err)
	}
}
