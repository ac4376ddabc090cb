package server

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/access"
	"github.com/forkbox/forkbox/internal/ledger"
)

func withTrail(t *testing.T) (func(*Server), forkbox.AccessLedger) {
	t.Helper()
	l, err := ledger.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	trail, err := access.OpenTrail(t.Context(), l, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return func(s *Server) { s.Trail = trail }, l
}

// audited is the trail as the API shows it, a line for each entry.
func (r *reached) audited(t *testing.T, query string) (lines []string) {
	t.Helper()
	_, text := r.ask(t, "GET", "/v1/audit"+query, r.token(t, "admin"), "")
	var list api.CallList
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, c := range list.Calls {
		if c.Request == "" || c.From == "" || c.Time.IsZero() {
			t.Errorf("%+v", c)
		}
		lines = append(lines, fmt.Sprintf("%s %s %q %s %d", c.Kind, c.Name, c.Target, c.Outcome, max(1, c.Times)))
	}
	return lines
}

func TestTheTrailHasWhatChangedAndWhatWasRefused(t *testing.T) {
	set, _ := withTrail(t)
	r := startOutside(t, set)
	token := r.token(t, "boxes", "exec", "apply")
	r.ask(t, "GET", "/v1/boxes", token, "")                                 // looks
	r.ask(t, "POST", "/v1/limits", token, "{}")                             // asks
	r.ask(t, "POST", "/v1/boxes", token, `{"name":"try"}`)                  // makes
	r.ask(t, "POST", "/v1/boxes", token, `{"nme":"try"}`)                   // fails
	r.ask(t, "POST", "/v1/boxes/b1/apply", token, `{}`)                     // changes reality
	r.ask(t, "GET", "/v1/secrets", token, "")                               // is refused
	r.ask(t, "GET", "/v1/boxes", "fbx_x", "")                               // is not known
	r.ask(t, "GET", "/v1/boxes", "fbx_y", "")                               // again
	r.ask(t, "GET", "/v1/boxes", token, "", "Host: attacker.example")       // a rebound name
	r.ask(t, "DELETE", "/v1/boxes/b1", token, "")                           // fails
	r.ask(t, "POST", "/v1/boxes/b1/execs", token, `{"argv":["/bin/true"]}`) // runs
	want := []string{
		`token createBox "try" ok 1`, `token createBox "" invalid 1`, `token applyBox "b1" ok 1`, `token listSecrets "" denied 1`,
		`nobody listBoxes "" unauthenticated 2`, `nobody listBoxes "" denied 1`, `token removeBox "b1" busy 1`, `token startExec "b1" ok 1`,
	}
	if got := r.audited(t, ""); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := r.audited(t, "?box=try"); len(got) != 1 {
		t.Errorf("of the box: %v", got)
	}
	if got := r.audited(t, "?limit=2"); len(got) != 2 || !strings.Contains(got[1], "startExec") {
		t.Errorf("the latest: %v", got)
	}
	if resp, text := r.ask(t, "GET", "/v1/audit?since=now", r.token(t, "admin"), ""); resp.StatusCode != 400 {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

// What changes reality is on record before it is done, and is not done where it
// cannot be.
func TestRealityIsNotChangedWithoutATrail(t *testing.T) {
	set, l := withTrail(t)
	r := startOutside(t, set)
	token := r.token(t, "all")
	if resp, text := r.ask(t, "POST", "/v1/boxes/b1/apply", token, `{}`); resp.StatusCode != 200 {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	calls, err := l.Calls(t.Context(), forkbox.CallFilter{})
	if err != nil || len(calls) != 1 || calls[0].Outcome != "ok" || calls[0].Name != "applyBox" {
		t.Errorf("it is not written when the answer is there: %+v %v", calls, err)
	}
	l.(*ledger.SQLite).Close()
	before := len(r.engine.applied)
	resp, text := r.ask(t, "POST", "/v1/boxes/b1/apply", token, `{}`)
	if resp.StatusCode != 503 || len(r.engine.applied) != before {
		t.Errorf("%d %s; applied %v", resp.StatusCode, text, r.engine.applied[before:])
	}
}

func TestTheTrailCannotBeEdited(t *testing.T) {
	for _, route := range api.Routes() {
		if strings.HasPrefix(route.Path, "/v1/audit") && route.Method != "GET" {
			t.Errorf("%s %s", route.Method, route.Path)
		}
	}
}

func TestTooManyRequests(t *testing.T) {
	r := startOutside(t, func(s *Server) {
		s.Requests = &access.Rate{PerSecond: 0.001, Burst: 3}
		s.Failures = &access.Rate{PerSecond: 0.001, Burst: 2}
	})
	token, other := r.token(t, "read"), r.token(t, "read")
	status := func(token string) int {
		resp, _ := r.ask(t, "GET", "/v1/boxes", token, "")
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); (resp.StatusCode == 429) != (err == nil && seconds > 0) {
			t.Errorf("%d: %v", resp.StatusCode, resp.Header)
		}
		return resp.StatusCode
	}
	var got []int
	for _, who := range []string{token, token, token, token, other, "fbx_x", "fbx_x", "fbx_x", other} {
		got = append(got, status(who))
	}
	if want := "[200 200 200 429 200 401 401 429 200]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
