//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// tracedSpan is a span as a collector is told of it.
type tracedSpan struct {
	TraceID, SpanID, ParentSpanID, Name string
	Status                              struct{ Code int }
}

// collector keeps what it is sent.
type collector struct {
	mu    sync.Mutex
	spans []tracedSpan
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var all struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []tracedSpan }
		}
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &all)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range all.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// of are the spans of a trace, by name: the last of each.
func (c *collector) of(trace string) map[string]tracedSpan {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string]tracedSpan{}
	for _, s := range c.spans {
		if s.TraceID == trace {
			found[s.Name] = s
		}
	}
	return found
}

// ask makes a request of a trace, and takes the answer apart.
func (w *limitWorld) ask(route *api.Route, trace string, in, out any, values ...string) {
	w.Helper()
	body, err := json.Marshal(in)
	w.ok(err)
	req, err := http.NewRequestWithContext(w.Context(), route.Method, "http://forkbox"+route.URL(nil, values...), bytes.NewReader(body))
	w.ok(err)
	req.Header.Set("traceparent", "00-"+trace+"-b7ad6b7169203331-01")
	req.Header.Set("X-Request-Id", "request-"+route.Name)
	resp, err := w.web().Do(req)
	w.ok(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	w.ok(err)
	if resp.StatusCode/100 != 2 {
		w.Fatalf("%s: %s %s", route.Name, resp.Status, text)
	}
	w.ok(json.Unmarshal(text, out))
}

// TestTraces: creating a box, a command in it and an apply are each a tree of spans
// below the caller's, and the log names the request, the trace and the box.
func TestTraces(t *testing.T) {
	t.Parallel()
	kept := &collector{}
	web := httptest.NewServer(kept)
	t.Cleanup(web.Close)
	w := newLimitWorld(t, calm+"traces: {endpoint: '"+web.URL+"', sample: 0%}\nlog: {level: debug, format: json}\n")
	const create, exec, apply = "0af7651916cd43dd8448eb211c803101", "0af7651916cd43dd8448eb211c803102", "0af7651916cd43dd8448eb211c803103"
	w.ok(os.WriteFile(filepath.Join(w.root, "f"), []byte("old\n"), 0o644))
	var box forkbox.Box
	w.ask(api.CreateBox.Route, create, api.CreateRequest{Dir: w.root, Env: os.Environ(), Net: "none"}, &box)
	var x forkbox.Exec
	argv := api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"sh", "-c", "echo new > f"}, Dir: w.root}}
	w.ask(api.StartExec.Route, exec, argv, &x, box.ID)
	_, err := w.WaitExec(w.Context(), box.ID, x.ID, "")
	w.ok(err)
	var receipt forkbox.Receipt
	w.ask(api.ApplyBox.Route, apply, forkbox.ApplySpec{Yes: true}, &receipt, box.ID)

	for trace, tree := range map[string][][2]string{ // each with what it is a part of
		create: {{"create box", "createBox"}, {"wait for the host", "create box"}, {"prepare files", "create box"}, {"write to the ledger", "create box"}},
		exec:   {{"exec", "startExec"}, {"wake box", "exec"}, {"start instance", "wake box"}, {"start command", "exec"}},
		apply:  {{"apply", "applyBox"}, {"look at changes", "apply"}, {"stage", "apply"}, {"land", "apply"}, {"keep what landed", "apply"}},
	} {
		root := tree[0][1]
		w.until("all of "+root+" has arrived", func() bool { return kept.of(trace)[root].SpanID != "" })
		spans := kept.of(trace)
		if spans[root].ParentSpanID != "b7ad6b7169203331" {
			t.Errorf("%s is no part of what its caller does: %+v", root, spans[root])
		}
		for _, part := range tree {
			if s, whole := spans[part[0]], spans[part[1]]; s.SpanID == "" || s.ParentSpanID != whole.SpanID || s.Status.Code != 0 {
				t.Errorf("%s should be part of %s: %+v", part[0], part[1], spans)
			}
		}
	}
	kept.mu.Lock()
	for _, s := range kept.spans {
		if s.TraceID != create && s.TraceID != exec && s.TraceID != apply {
			t.Errorf("what no caller wanted was traced: %+v", s)
		}
	}
	kept.mu.Unlock()
	w.has(`forkbox_trace_spans_total{outcome="dropped"} 0`)
	w.logs(`"request":"request-applyBox"`, `"trace":"`+apply+`"`, `"box":"`+box.ID+`"`)
}

// logs finds a line of the log that has all of these.
func (w *served) logs(words ...string) {
	w.Helper()
	text, err := os.ReadFile(w.file("log"))
	w.ok(err)
	for line := range strings.Lines(string(text)) {
		has := json.Valid([]byte(line))
		for _, word := range words {
			has = has && strings.Contains(line, word)
		}
		if has {
			return
		}
	}
	w.Errorf("no line has %q:\n%s", words, text)
}

// TestTracesNeedNoCollector: with one that refuses everything the daemon does its
// work, and counts what it dropped.
func TestTracesNeedNoCollector(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	w := newLimitWorld(t, calm+"traces: {endpoint: '"+web.URL+"'}\n")
	w.create("one", "")
	w.until("what was dropped is counted", func() bool {
		text := w.metrics()
		return strings.Contains(text, `forkbox_trace_spans_total{outcome="sent"} 0`) && !strings.Contains(text, `forkbox_trace_spans_total{outcome="dropped"} 0`)
	})
}
