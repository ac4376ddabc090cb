package registry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// doorman is a registry that wants tokens, and the server that gives them: a
// proxy before a real registry.
type doorman struct {
	mu     sync.Mutex
	tokens map[string]string // and what each is good for
	given  int
	scopes []string // that were asked for
	asked  []*http.Request
	// revoke is asked for every request with a good token, which it may end.
	revoke func(*http.Request) bool
	// leaked are headers at the registry that are not for it.
	leaked []string
	server *httptest.Server // of tokens
}

// before starts the doorman before a registry, and says where it is.
func (d *doorman) before(t *testing.T, next http.Handler) string {
	t.Helper()
	d.tokens = map[string]string{}
	d.server = httptest.NewServer(http.HandlerFunc(d.giveToken))
	t.Cleanup(d.server.Close)
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.lets(r) {
			challenge := fmt.Sprintf(`Bearer realm="%s/token?keep=1",service="the service",scope="repository:box:pull"`, d.server.URL)
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(door.Close)
	return strings.TrimPrefix(door.URL, "http://")
}

func (d *doorman) lets(r *http.Request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	header := r.Header.Get("Authorization")
	token, ok := strings.CutPrefix(header, "Bearer ")
	if header != "" && !ok {
		d.leaked = append(d.leaked, header)
	}
	scope := d.tokens[token]
	if scope != "" && d.revoke != nil && d.revoke(r) {
		clear(d.tokens)
		return false
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	return strings.HasSuffix(scope, ":pull,push") || reads && strings.HasSuffix(scope, ":pull")
}

func (d *doorman) giveToken(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	user, password, _ := r.BasicAuth()
	_ = r.ParseForm()
	d.asked = append(d.asked, r)
	refresh := r.Method == http.MethodPost && r.PostForm.Get("refresh_token") == "identity"
	if r.URL.Query().Get("keep") != "1" || !refresh && (user != "u" || password != "secret") {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprint(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who are \u001b[31myou"}]}`)
		return
	}
	d.given++
	token := fmt.Sprintf("token-%d", d.given)
	d.tokens[token] = r.Form.Get("scope")
	d.scopes = append(d.scopes, r.Form["scope"]...)
	_ = json.NewEncoder(w).Encode(map[string]any{"token": token, "expires_in": 60})
}

func (d *doorman) check(t *testing.T, scopes ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.scopes, scopes) {
		t.Errorf("tokens for %q; want %q", d.scopes, scopes)
	}
	if len(d.leaked) > 0 {
		t.Errorf("the registry was told %q", d.leaked)
	}
	for _, r := range d.asked {
		if r.Form.Get("service") != "the service" {
			t.Errorf("asked for %q", r.Form)
		}
	}
	d.scopes = nil
}

func proxyTo(host string) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: host})
		r.Out.Host = r.In.Host
	}}
}
