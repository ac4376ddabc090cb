package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/access"
)

// TestEveryRouteWithEveryScope asks for each route of the table with a token of each one
// scope, and with one of all others: who lacks a scope of the route is refused and told
// which, who has all is not refused for that.
func TestEveryRouteWithEveryScope(t *testing.T) {
	r := startOutside(t)
	type holder struct {
		scopes access.Scopes
		token  string
	}
	var holders []holder
	for i, scope := range api.Scopes {
		others := slices.Delete(slices.Clone(access.AllScopes.Names()), i, i+1)
		for _, names := range [][]string{{string(scope)}, others} {
			scopes, err := access.ParseScopes(names)
			if err != nil {
				t.Fatal(err)
			}
			holders = append(holders, holder{scopes, r.token(t, names...)})
		}
	}
	for _, route := range api.Routes() {
		for _, h := range holders {
			var lacks []string
			for _, scope := range route.Scopes {
				if !h.scopes.Has(scope) {
					lacks = append(lacks, string(scope))
				}
			}
			// Whoever may is stopped by a parameter that there is not, before anything is done.
			resp, text := r.ask(t, route.Method, route.URL(nil, "b1", "x")+"?no-such-parameter=1", h.token, "")
			refused := resp.StatusCode == 403 && strings.Contains(text, `"code":"denied"`)
			switch {
			case refused != (len(lacks) > 0):
				t.Errorf("%s with %v: %d %s", route.Name, h.scopes.Names(), resp.StatusCode, text)
			case refused && !strings.Contains(text, "needs the scope "+lacks[0]):
				t.Errorf("%s with %v is not told of %s: %s", route.Name, h.scopes.Names(), lacks[0], text)
			case !refused && resp.StatusCode != 400:
				t.Errorf("%s with %v got as far as %d %s", route.Name, h.scopes.Names(), resp.StatusCode, text)
			}
		}
		if resp, text := r.ask(t, route.Method, route.URL(nil, "b1", "x")+"?no-such-parameter=1", "", ""); (resp.StatusCode == 401) != (len(route.Scopes) > 0) {
			t.Errorf("%s without a token: %d %s", route.Name, resp.StatusCode, text)
		}
	}
}
