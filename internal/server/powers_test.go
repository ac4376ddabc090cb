package server

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// powered is an engine whose boxes and templates have more than others.
type powered struct{ *fakeEngine }

func (e powered) Box(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error) {
	box := forkbox.Box{ID: ref, Name: ref, Env: []string{"GITHUB_TOKEN=hush"}}
	switch ref {
	case "secret":
		box.AllowSecrets = []string{"GITHUB_TOKEN"}
	case "dir":
		box.Base.Kind = "dir"
	case "vault":
		box.Network.Secrets = map[string]string{"API": "placeholder"}
	case "hostnet":
		box.Net = forkbox.NetHost
	case "hostport":
		box.Network.HostPorts = []int{5432}
	}
	return box, nil
}

func (e powered) Templates(context.Context, forkbox.Owner) ([]forkbox.Template, error) {
	return []forkbox.Template{{Name: "plain"}, {Name: "secret", AllowSecrets: []string{"X"}}, {Name: "host", Net: forkbox.NetHost}}, nil
}

// TestBoxesAndExecReachNothingElse: an agent with these two scopes has no way to
// change reality, see the host's secrets, reach the host, or widen a network.
func TestBoxesAndExecReachNothingElse(t *testing.T) {
	r := startOutside(t, func(s *Server) { s.Engine = powered{s.Engine.(*fakeEngine)} })
	token := r.token(t, "boxes", "exec")
	wish := func(text string) string { return "/v1/import?net_wish=" + url.QueryEscape(text) }
	for name, c := range map[string]struct{ method, path, body, scope string }{
		"apply":                        {"POST", "/v1/boxes/b1/apply", `{}`, "apply"},
		"undo":                         {"POST", "/v1/receipts/r1/undo", `{}`, "apply"},
		"race apply":                   {"POST", "/v1/races/r1/apply", `{}`, "apply"},
		"mend a stray":                 {"POST", "/v1/strays", `{"dir":"/x","fate":"restore"}`, "apply"},
		"keep a secret":                {"PUT", "/v1/secrets/A", `{"value":"x","hosts":["a.example"]}`, "secrets"},
		"list secrets":                 {"GET", "/v1/secrets", ``, "secrets"},
		"export":                       {"GET", "/v1/boxes/b1/export", ``, "files"},
		"widen a network":              {"PATCH", "/v1/boxes/b1/net", `{"add":["allow x.example"]}`, "policy"},
		"publish a port":               {"POST", "/v1/boxes/b1/ports", `{"box":80,"host":5432}`, "policy"},
		"raise a limit":                {"PATCH", "/v1/boxes/b1/limits", `{"limits":{"memory":1}}`, "policy"},
		"make a token":                 {"POST", "/v1/tokens", `{"scopes":["all"]}`, "admin"},
		"end a token":                  {"DELETE", "/v1/tokens/x", ``, "admin"},
		"the store":                    {"DELETE", "/v1/store", ``, "admin"},
		"allow_secrets":                {"POST", "/v1/boxes", `{"allow_secrets":["~/.ssh"]}`, "secrets"},
		"a directory as base":          {"POST", "/v1/boxes", `{"from":"dir:/home"}`, "secrets"},
		"the host's network":           {"POST", "/v1/boxes", `{"net":"host"}`, "policy"},
		"a rule":                       {"POST", "/v1/boxes", `{"net_wish":{"rules":["allow x.example"]}}`, "policy"},
		"a rule without a word":        {"POST", "/v1/boxes", `{"net_wish":{"rules":["x.example"]}}`, "policy"},
		"the preset open":              {"POST", "/v1/boxes", `{"net_wish":{"preset":"open"}}`, "policy"},
		"a port of the host":           {"POST", "/v1/boxes", `{"net_wish":{"host_ports":[22]}}`, "policy"},
		"a pinned host":                {"POST", "/v1/boxes", `{"net_wish":{"pinned":["x.example"]}}`, "policy"},
		"a kept secret":                {"POST", "/v1/boxes", `{"net_wish":{"secrets":["API"]}}`, "secrets"},
		"a project's rule":             {"POST", "/v1/boxes", `{"net_wish":{"project":{"rules":["allow x.example"]},"project_file":"/f"}}`, "policy"},
		"a project's secret":           {"POST", "/v1/boxes", `{"net_wish":{"project":{"secrets":["API"]},"project_file":"/f"}}`, "secrets"},
		"a template with secrets":      {"POST", "/v1/boxes", `{"template":"secret"}`, "secrets"},
		"a template on the host":       {"POST", "/v1/boxes", `{"template":"host"}`, "policy"},
		"out of a box with secrets":    {"POST", "/v1/boxes", `{"from":"secret@s1"}`, "secrets"},
		"run with secrets":             {"POST", "/v1/run", `{"create":{"allow_secrets":["A"]},"exec":{"argv":["true"]}}`, "secrets"},
		"exec where secrets are":       {"POST", "/v1/boxes/secret/execs", `{"argv":["true"]}`, "secrets"},
		"exec in a directory":          {"POST", "/v1/boxes/dir/execs", `{"argv":["true"]}`, "secrets"},
		"exec with kept secrets":       {"POST", "/v1/boxes/vault/execs", `{"argv":["true"]}`, "secrets"},
		"exec on the host's network":   {"POST", "/v1/boxes/hostnet/execs", `{"argv":["true"]}`, "policy"},
		"exec with ports of the host":  {"POST", "/v1/boxes/hostport/execs", `{"argv":["true"]}`, "policy"},
		"attach where secrets are":     {"POST", "/v1/boxes/secret/execs/1/attach", ``, "secrets"},
		"fork what has secrets":        {"POST", "/v1/boxes/secret/fork", `{}`, "secrets"},
		"fork onto the host's network": {"POST", "/v1/boxes/b1/fork", `{"net":"host"}`, "policy"},
		"fork with a rule":             {"POST", "/v1/boxes/b1/fork", `{"net_wish":{"rules":["allow x.example"]}}`, "policy"},
		"a template of what has":       {"POST", "/v1/templates", `{"name":"t","from":"secret"}`, "secrets"},
		"a race with secrets":          {"POST", "/v1/races", `{"start":{"allow_secrets":["A"]},"approaches":[{"name":"a"}]}`, "secrets"},
		"a race on the host's network": {"POST", "/v1/races", `{"start":{"net":"host"},"approaches":[{"name":"a"}]}`, "policy"},
		"a race of a directory":        {"POST", "/v1/races", `{"start":{"from":"dir:/"},"approaches":[{"name":"a"}]}`, "secrets"},
		"import onto the host":         {"POST", "/v1/import?net=host", `x`, "policy"},
		"import with a rule":           {"POST", wish(`{"rules":["allow x.example"]}`), `x`, "policy"},
		"import with a secret":         {"POST", wish(`{"secrets":["API"]}`), `x`, "secrets"},
	} {
		resp, text := r.ask(t, c.method, c.path, token, c.body)
		if resp.StatusCode != 403 || !strings.Contains(text, `"code":"denied"`) || !strings.Contains(text, "the scope "+c.scope) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text)
		}
	}
	if n := len(r.engine.created) + len(r.engine.execs) + len(r.engine.applied); n > 0 {
		t.Errorf("%d things were done", n)
	}
}

func TestBoxesAndExecAreEnoughForWork(t *testing.T) {
	r := startOutside(t, func(s *Server) { s.Engine = powered{s.Engine.(*fakeEngine)} })
	token := r.token(t, "boxes", "exec")
	for name, c := range map[string]struct{ method, path, body string }{
		"list":            {"GET", "/v1/boxes", ``},
		"make":            {"POST", "/v1/boxes", `{"name":"a","net":"none","net_wish":{"preset":"locked","rules":["deny x.example"],"found":[{"rule":"allow evil.example"}]}}`},
		"of a template":   {"POST", "/v1/boxes", `{"template":"plain"}`},
		"out of a box":    {"POST", "/v1/boxes", `{"from":"b1@s"}`},
		"run detached":    {"POST", "/v1/boxes/b1/execs", `{"argv":["true"]}`},
		"look at changes": {"GET", "/v1/boxes/b1/changes", ``},
		"snapshot":        {"POST", "/v1/boxes/b1/snapshots", `{}`},
	} {
		if resp, text := r.ask(t, c.method, c.path, token, c.body); resp.StatusCode/100 != 2 {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text)
		}
	}
	for _, spec := range r.engine.created {
		if len(spec.NetWish.Found) > 0 {
			t.Errorf("the caller says what this machine uses: %v", spec.NetWish.Found)
		}
	}
	// What was let in with allow_secrets is in a box's environment.
	if _, text := r.ask(t, "GET", "/v1/boxes/secret", token, ""); strings.Contains(text, "hush") {
		t.Errorf("a secret is shown: %s", text)
	}
	if _, text := r.ask(t, "GET", "/v1/boxes/secret", r.token(t, "read", "secrets"), ""); !strings.Contains(text, "hush") {
		t.Errorf("nothing is shown: %s", text)
	}
}

// Every route says who may call it, and every scope has a route that needs it.
func TestEveryRouteHasAScope(t *testing.T) {
	open := map[string]bool{"/v1/version": true, "/healthz": true, "/readyz": true, "/openapi.json": true, "/docs": true}
	used := map[api.Scope]bool{}
	for _, route := range api.Routes() {
		if len(route.Scopes) == 0 && !open[route.Path] {
			t.Errorf("%s %s is open to anyone", route.Method, route.Path)
		}
		for _, scope := range route.Scopes {
			used[scope] = true
		}
		if writes := route.Method != "GET"; writes && len(route.Scopes) == 1 && route.Scopes[0] == api.Read {
			switch route.Name {
			case api.TryLimits.Name, api.ExplainNet.Name, api.WaitPort.Name: // questions with a body
			case api.CancelOperation.Name: // it takes the scopes of what it cancels: TestLongWorkIsCancelled
			default:
				t.Errorf("%s %s needs no more than read", route.Method, route.Path)
			}
		}
	}
	for _, scope := range api.Scopes {
		if !used[scope] {
			t.Errorf("no route needs %s", scope)
		}
	}
}
