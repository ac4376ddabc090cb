//go:build linux

package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// matchBodies are what the routes that take If-Match are asked with; the others need
// none.
var matchBodies = map[string]string{
	api.KeepBox.Name: `{"keep":false}`, api.ApplyBox.Name: `{}`, api.DiscardChanges.Name: `{"paths":["/tmp/x"]}`,
	api.SetLimits.Name: `{"priority":"low"}`, api.ExtendBox.Name: `{"by_ns":1000000000}`, api.ChangeNet.Name: `{"add":["deny x.example"]}`,
	api.PublishPort.Name: `{"box":80,"host":0}`, api.CreateSnapshot.Name: `{}`, api.RollbackBox.Name: `{}`, api.UnpublishPort.Name: "",
}

// TestEveryWriterHeedsIfMatch: a route that says that it takes If-Match does nothing to
// a box that was changed since.
func TestEveryWriterHeedsIfMatch(t *testing.T) {
	t.Parallel()
	w, c := keyedWorld(t)
	w.must("new", "--name", "one")
	w.must("exec", "one", "--", "sh", "-c", "echo x > /tmp/x")
	w.must("snapshot", "one")
	old, err := c.Box(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	w.must("keep", "one")
	asked := 0
	for _, route := range api.Routes() {
		if route.Match != api.BoxMatch {
			continue
		}
		asked++
		query := map[string]string{api.UnpublishPort.Name: "?port=80"}[route.Name]
		status, _, text := w.askSocket(route.Method, route.URL(nil, "one")+query, matchBodies[route.Name], "If-Match", `"`+old.Tag()+`"`)
		if status != http.StatusPreconditionFailed || !strings.Contains(text, `"code":"changed"`) || !strings.Contains(text, "look at it again") {
			t.Errorf("%s: %d %s", route.Name, status, text)
		}
	}
	if asked != 15 {
		t.Errorf("%d routes take If-Match", asked)
	}
	if now, err := c.Box(t.Context(), "one"); err != nil || !now.Kept || now.Priority == forkbox.LowPriority {
		t.Errorf("%v: it was changed: %+v", err, now)
	}
	if status, _, text := w.askSocket("POST", "/v1/boxes/one/start", "", "If-Match", "*"); status != http.StatusBadRequest {
		t.Errorf("a route that takes none: %d %s", status, text)
	}
}

// TestAnETagIsABox: the same for who reads and for who wrote, and another after a
// change.
func TestAnETagIsABox(t *testing.T) {
	t.Parallel()
	w, c := keyedWorld(t)
	w.must("new", "--name", "one")
	_, first, _ := w.askSocket("GET", "/v1/boxes/one", "")
	if status, _, text := w.askSocket("GET", "/v1/boxes/one", "", "If-None-Match", first); status != http.StatusNotModified || text != "" {
		t.Errorf("%d %s", status, text)
	}
	status, second, _ := w.askSocket("PUT", "/v1/boxes/one/keep", `{"keep":true}`, "If-Match", first)
	if status != http.StatusOK || second == first || second == "" {
		t.Errorf("%d %s after %s", status, second, first)
	}
	if status, third, _ := w.askSocket("GET", "/v1/boxes/one", "", "If-None-Match", first); status != http.StatusOK || third != second {
		t.Errorf("%d %s after %s", status, third, second)
	}
	box, err := c.Box(t.Context(), "one")
	if err != nil || `"`+box.Tag()+`"` != second {
		t.Fatalf("%v: %s and %s", err, box.Tag(), second)
	}
	ctx := client.IfUnchanged(t.Context(), box)
	var all sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		all.Go(func() { _, errs[i] = c.Keep(ctx, "one", false) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if forkbox.CodeOf(err) != forkbox.Changed {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d writers won", won, len(errs))
	}
}

// askSocket makes a request with a header, and returns the answer's status, ETag and
// body.
func (w *world) askSocket(method, path, body string, header ...string) (status int, tag, text string) {
	w.Helper()
	web := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(w.home, "forkbox.sock"))
	}}}
	req, err := http.NewRequestWithContext(w.Context(), method, "http://forkbox"+path, strings.NewReader(body))
	w.ok(err)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := web.Do(req)
	w.ok(err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	w.ok(err)
	return resp.StatusCode, resp.Header.Get("ETag"), string(got)
}
