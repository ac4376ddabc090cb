package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/api/apitest"
	"github.com/forkbox/forkbox/client"
)

// running is a server on a socket of its own.
type running struct {
	*Server
	engine *fakeEngine
	client *client.Client
	socket string
	cancel context.CancelFunc
	ended  chan error
	log    *bytes.Buffer
}

func start(t *testing.T, change ...func(*Server)) *running {
	t.Helper()
	CheckAnswer = func(route *api.Route, status int, body []byte) {
		if err := apitest.Check(route, status, body); err != nil {
			t.Error(err)
		}
	}
	dir, err := os.MkdirTemp("", "fb") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &running{engine: newFake(), socket: filepath.Join(dir, "s"), ended: make(chan error, 1), log: &bytes.Buffer{}}
	l, err := net.Listen("unix", r.socket)
	if err != nil {
		t.Fatal(err)
	}
	r.client = client.New(r.socket)
	r.Server = New(Config{Engine: r.engine, Version: "test", Log: slog.New(slog.NewTextHandler(r.log, nil))})
	for _, f := range change {
		f(r.Server)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.cancel = cancel
	go func() { r.ended <- r.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		r.client.Close()
		select {
		case <-r.ended:
		case <-time.After(10 * time.Second):
			t.Error("the server does not end")
		}
	})
	return r
}

// raw sends a body as it is.
func (r *running) raw(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	web := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", r.socket)
		}}}
	req, _ := http.NewRequest(method, "http://x"+path, strings.NewReader(body))
	resp, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

func TestBadRequestsDoNothing(t *testing.T) {
	r := start(t)
	for name, body := range map[string]string{
		"not JSON":      `name=x`,
		"cut off":       `{"name":"x"`,
		"unknown field": `{"name":"x","owner":{"uid":0}}`,
		"trailing":      `{"name":"x"} {"name":"y"}`,
		"wrong type":    `{"name":7}`,
		"empty":         ``,
		"too large":     `{"name":"` + strings.Repeat("x", maxBody) + `"}`,
	} {
		status, text := r.raw(t, "POST", "/v1/boxes", body)
		if status != 400 || !strings.Contains(text, `"code":"invalid"`) {
			t.Errorf("%s: %d %.200s", name, status, text)
		}
	}
	if len(r.engine.created) > 0 {
		t.Errorf("created %v", r.engine.created)
	}
}

func TestPeerIsTheOwner(t *testing.T) {
	r := start(t)
	box, err := r.client.Create(t.Context(), api.CreateRequest{Name: "try", Net: "host", Env: []string{"A=1"}})
	if err != nil {
		t.Fatal(err)
	}
	who := r.engine.who[0]
	if box.Name != "try" || who.UID != os.Geteuid() || who.GID != os.Getegid() || who.Name == "" || who.Home == "" {
		t.Errorf("box %+v of %+v", box, who)
	}
	groups, _ := os.Getgroups()
	if fmt.Sprint(who.Groups) != fmt.Sprint(groups) && len(who.Groups)+len(groups) > 0 {
		t.Errorf("groups %v, want %v", who.Groups, groups)
	}
}

func TestUserDaemonServesItsOwnUserOnly(t *testing.T) {
	foreign := func(s *Server) {
		s.uid = 4001
		s.peer = func(net.Conn) (forkbox.Owner, error) { return forkbox.Owner{UID: 4002}, nil }
	}
	r := start(t, foreign)
	_, err := r.client.Create(t.Context(), api.CreateRequest{Name: "x"})
	if forkbox.CodeOf(err) != forkbox.Denied || len(r.engine.created) > 0 {
		t.Errorf("err %v, created %v", err, r.engine.created)
	}
	if err := r.client.Remove(t.Context(), "b1", true); forkbox.CodeOf(err) != forkbox.Denied {
		t.Errorf("remove: %v", err)
	}
	if v, err := r.client.Version(t.Context()); err != nil || v.Version != "test" {
		t.Errorf("version: %+v %v", v, err)
	}
}

// TestFewRoutesAreOpen: what the daemon is, and whether it is well, anyone may
// know; all else needs a scope.
func TestFewRoutesAreOpen(t *testing.T) {
	open := map[string]bool{"/v1/version": true, "/openapi.json": true, "/docs": true, "/healthz": true, "/readyz": true}
	for _, r := range api.Routes() {
		if len(r.Scopes) == 0 && !open[r.Path] {
			t.Errorf("%s %s is open to anyone", r.Method, r.Path)
		}
	}
}

// What the API has is served, and nothing else: each route once.
func TestEveryRouteIsServed(t *testing.T) {
	served := map[*api.Route]int{}
	for _, h := range handlers {
		served[h.Route]++
	}
	for _, r := range api.Routes() {
		if served[r] != 1 {
			t.Errorf("%s is served %d times", r.Name, served[r])
		}
		delete(served, r)
	}
	for r := range served {
		t.Errorf("%s is not in the table", r.Name)
	}
}

func TestWhatIsUnknownIsRefusedWithASuggestion(t *testing.T) {
	r := start(t)
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/v1/boxes", `{"nmae":"x"}`, "name"},
		{"POST", "/v1/boxes/b1/execs", `{"argv":["true"],"on_disconect":"kill"}`, "on_disconnect"},
		{"PATCH", "/v1/boxes/b1/limits", `{"limts":{}}`, "limits"},
		{"DELETE", "/v1/boxes/b1?froce=1", "", "force"},
		{"GET", "/v1/boxes/b1/changes?al=1", "", "all"},
	} {
		status, text := r.raw(t, c.method, c.path, c.body)
		if status != 400 || !strings.Contains(text, `did you mean \"`+c.want+`\"?`) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, status, text)
		}
	}
	for _, query := range []string{"force=maybe", "force=1&force=0", "force=%zz"} {
		if status, text := r.raw(t, "DELETE", "/v1/boxes/b1?"+query, ""); status != 400 {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
}

func TestErrorsKeepCodeAndHints(t *testing.T) {
	r := start(t)
	_, err := r.client.Box(t.Context(), "nope")
	e, ok := err.(*forkbox.Error)
	if !ok || e.Code != forkbox.NotFound || len(e.Hints) != 1 || e.Error() != "cannot find box nope: there is none" {
		t.Errorf("%#v", err)
	}
	for _, odd := range []string{"", ".", "..", "a/b", "a?b", "%"} {
		if _, err := r.client.Box(t.Context(), odd); forkbox.CodeOf(err) != forkbox.NotFound {
			t.Errorf("box %q: %v", odd, err)
		}
	}
	if status, text := r.raw(t, "PUT", "/v1/boxes", ""); status != 404 || !strings.Contains(text, `"hints"`) {
		t.Errorf("PUT: %d %s", status, text)
	}
	if err := r.client.Remove(t.Context(), "b1", false); forkbox.CodeOf(err) != forkbox.Busy {
		t.Errorf("remove: %v", err)
	}
}

func TestPanicIsAnswered(t *testing.T) {
	r := start(t)
	r.engine.onBoxes = func() { panic("boom") }
	status, text := r.raw(t, "GET", "/v1/boxes", "")
	if status != 500 || !strings.Contains(text, "boom") || !strings.Contains(r.log.String(), "panic") {
		t.Errorf("%d %s; log %s", status, text, r.log)
	}
}

func TestChangesAreStreamed(t *testing.T) {
	r := start(t)
	for i := range 5000 {
		kind := forkbox.Added
		if i%5 == 0 {
			kind = forkbox.Deleted
		}
		r.engine.changes = append(r.engine.changes, forkbox.Change{Path: fmt.Sprint("/", i), Kind: kind, Size: 1})
	}
	n := 0
	summary, err := r.client.Changes(t.Context(), "b1", forkbox.DiffSpec{}, func(forkbox.Change) error { n++; return nil })
	if err != nil || n != 5000 || summary.Deleted != 1000 || summary.Added != 4000 || summary.Bytes != 4000 {
		t.Errorf("%d changes, %+v, %v", n, summary, err)
	}

	r.engine.failAt = forkbox.Errorf(forkbox.Busy, "read changes", "half-way")
	if _, err := r.client.Changes(t.Context(), "b1", forkbox.DiffSpec{}, func(forkbox.Change) error { return nil }); forkbox.CodeOf(err) != forkbox.Busy {
		t.Errorf("a failure half-way: %v", err)
	}
	r.engine.changes = nil
	if status, _ := r.raw(t, "GET", "/v1/boxes/b1/changes", ""); status != 409 {
		t.Errorf("a failure at once: %d", status)
	}
	r.engine.failAt = nil
	if _, text := r.raw(t, "GET", "/v1/boxes/b1/changes", ""); !strings.HasPrefix(text, `{"changes":[],"summary":{"total":0`) {
		t.Errorf("no changes: %s", text)
	}
}

func TestLogsFollow(t *testing.T) {
	r := start(t)
	r.engine.logs = []forkbox.LogRecord{{Stream: "stdout", Data: []byte("one\n")}, {Stream: "stderr", Data: []byte{0xff}}}
	ctx, cancel := context.WithCancel(t.Context())
	var got []forkbox.LogRecord
	err := r.client.Logs(ctx, "b1", "1", true, func(record forkbox.LogRecord) error {
		if got = append(got, record); len(got) == 2 {
			cancel()
		}
		return nil
	})
	if len(got) != 2 || got[1].Data[0] != 0xff || err != context.Canceled {
		t.Errorf("%v, %v", got, err)
	}
	if err := r.client.Logs(t.Context(), "b1", "1", false, func(forkbox.LogRecord) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestIdleServerEnds(t *testing.T) {
	retired := make(chan struct{})
	r := start(t, func(s *Server) {
		s.IdleAfter = 60 * time.Millisecond
		s.Retire = func() { close(retired) }
		s.Engine.(*fakeEngine).busy = true
	})
	select {
	case <-r.ended:
		t.Fatal("ended while something ran")
	case <-time.After(250 * time.Millisecond):
	}
	r.engine.mu.Lock()
	r.engine.busy = false
	r.engine.mu.Unlock()
	select {
	case err := <-r.ended:
		r.ended <- err
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("does not end")
	}
	<-retired
}
