package registry

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
)

var known = Options{Credential: Credential{Username: "u", Password: "secret"}}

func TestRegistryWithTokens(t *testing.T) {
	d, src := &doorman{}, image(t)
	ref := d.before(t, proxyTo(serve(t, ""))) + "/box:v1"
	_, err := Push(context.Background(), src, ref, Options{})
	wantError(t, err, forkbox.Denied, "does not let us")
	wantError(t, err, forkbox.Denied, "unauthorized: who are  [31myou")
	_, err = Push(context.Background(), src, ref, Options{Credential: Credential{Username: "u", Password: "wrong"}})
	wantError(t, err, forkbox.Denied, "does not let us")
	if len(d.scopes) > 0 {
		t.Errorf("tokens for %q", d.scopes)
	}
	_, err = Push(context.Background(), src, ref, known)
	check(t, err)
	d.check(t, "repository:box:pull,push") // one token for all of it
	dst := t.TempDir()
	_, err = Pull(context.Background(), ref, dst, known)
	check(t, err)
	d.check(t, "repository:box:pull")
	if got := unpacked(t, dst); !slices.Equal(got, []string{"large", "small"}) {
		t.Errorf("files %q", got)
	}
}

// Tokens end in the middle of everything: before each kind of request, also of
// the one with a blob in it, which cannot be sent again as it is.
func TestExpiredTokenIsRenewed(t *testing.T) {
	d, src, dst := &doorman{}, image(t), t.TempDir()
	ref := d.before(t, proxyTo(serve(t, ""))) + "/box:v1"
	ended, used := map[string]bool{}, map[string]bool{}
	d.revoke = func(r *http.Request) bool { // once for each kind of request, and no token that is new
		kind, token := r.Method, r.Header.Get("Authorization")
		if strings.Contains(r.URL.Path, "/manifests/") {
			kind += " manifest"
		}
		ends := used[token] && !ended[kind]
		used[token] = true
		ended[kind] = ended[kind] || ends
		return ends
	}
	_, err := Push(context.Background(), src, ref, known)
	check(t, err)
	_, err = Pull(context.Background(), ref, dst, known)
	check(t, err)
	for _, kind := range []string{"HEAD", "POST", "PUT", "GET", "HEAD manifest", "PUT manifest"} {
		if !ended[kind] {
			t.Errorf("no token ended at %s", kind)
		}
	}
	if got := unpacked(t, dst); !slices.Equal(got, []string{"large", "small"}) {
		t.Errorf("files %q", got)
	}
}

// A registry that takes no token is not asked for ever.
func TestTokenThatIsNeverTaken(t *testing.T) {
	d := &doorman{revoke: func(*http.Request) bool { return true }}
	_, err := Pull(context.Background(), d.before(t, http.NotFoundHandler())+"/box:v1", t.TempDir(), known)
	wantError(t, err, forkbox.Denied, "does not let us")
	if d.given != 1 {
		t.Errorf("%d tokens", d.given)
	}
}

func TestIdentityToken(t *testing.T) {
	d := &doorman{}
	ref := d.before(t, proxyTo(serve(t, ""))) + "/box:v1"
	who := Options{Credential: Credential{Username: "u", Token: "identity"}}
	_, err := Push(context.Background(), image(t), ref, who)
	check(t, err)
	d.check(t, "repository:box:pull,push")
	for _, r := range d.asked {
		if r.Method != http.MethodPost || r.PostForm.Get("grant_type") != "refresh_token" || r.Header.Get("Authorization") != "" {
			t.Errorf("%s with %q", r.Method, r.PostForm)
		}
	}
	_, err = Push(context.Background(), image(t), ref, Options{Credential: Credential{Token: "old"}})
	wantError(t, err, forkbox.Denied, "does not let us")
}

// stranger is a server that the registry sends us to. It must not learn who we
// are, neither by itself nor by asking.
type stranger struct {
	mu      sync.Mutex
	headers []string
	seen    int
	next    http.Handler
}

func (s *stranger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	if h := r.Header.Get("Authorization"); h != "" {
		s.headers = append(s.headers, h)
	}
	s.next.ServeHTTP(w, r)
}

func (s *stranger) check(t *testing.T) {
	t.Helper()
	if s.seen == 0 || len(s.headers) > 0 {
		t.Errorf("it was asked %d times and told %q", s.seen, s.headers)
	}
}

// sendingAway is a registry whose blobs lie elsewhere.
func sendingAway(host, elsewhere string) http.Handler {
	here := proxyTo(host)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			http.Redirect(w, r, elsewhere+r.URL.Path+"?signed=yes", http.StatusTemporaryRedirect)
			return
		}
		here.ServeHTTP(w, r)
	})
}

func TestRedirectsLearnNothing(t *testing.T) {
	host := serve(t, "")
	_, err := Push(context.Background(), image(t), host+"/box:v1", Options{})
	check(t, err)
	store := &stranger{next: proxyTo(host)}
	elsewhere := httptest.NewServer(store)
	defer elsewhere.Close()
	d, dst := &doorman{}, t.TempDir()
	ref := d.before(t, sendingAway(host, elsewhere.URL)) + "/box:v1"
	_, err = Pull(context.Background(), ref, dst, known)
	check(t, err)
	store.check(t)
	d.check(t, "repository:box:pull")
	if got := unpacked(t, dst); !slices.Equal(got, []string{"large", "small"}) {
		t.Errorf("files %q", got)
	}
}

func TestRedirectsCannotAskForPasswords(t *testing.T) {
	host := serve(t, users)
	_, err := Push(context.Background(), image(t), host+"/box:v1", known)
	check(t, err)
	for _, challenge := range []string{"Basic realm=x", "Bearer"} {
		thief := &stranger{}
		elsewhere := httptest.NewServer(thief)
		defer elsewhere.Close()
		if challenge == "Bearer" {
			challenge = `Bearer realm="` + elsewhere.URL + `/token"`
		}
		thief.next = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		})
		away := httptest.NewServer(sendingAway(host, elsewhere.URL))
		defer away.Close()
		ref := strings.TrimPrefix(away.URL, "http://") + "/box:v1"
		_, err = Pull(context.Background(), ref, t.TempDir(), known)
		wantError(t, err, forkbox.Denied, "401")
		if strings.Contains(err.Error(), "signed") {
			t.Errorf("it tells a signature: %v", err)
		}
		thief.check(t)
	}
}
