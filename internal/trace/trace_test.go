package trace

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestParents(t *testing.T) {
	for text, want := range map[string][2]bool{ // read, sampled
		parent: {true, true},
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00":      {true, false},
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what": {true, true}, // of a later version
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what": {},
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":      {},
		"00-00000000000000000000000000000000-b7ad6b7169203331-01":      {},
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01":      {},
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01":      {},
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331":         {},
		"00-0af7651916cd43dd8448eb211c80319c+b7ad6b7169203331-01":      {},
		"00-0af7651916cd43dd8448eb211c8031zz-b7ad6b7169203331-01":      {},
		"": {},
	} {
		if _, _, sampled, ok := readParent(text); ok != want[0] || ok && sampled != want[1] {
			t.Errorf("%q: %v, sampled %v", text, ok, sampled)
		}
	}
}

// TestSpansArrive: a request with its parts is a tree below the caller's span, with
// its headers and what was said of it.
func TestSpansArrive(t *testing.T) {
	got := make(chan otlpTraces, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var all otlpTraces
		if err := json.NewDecoder(r.Body).Decode(&all); err != nil || r.URL.Path != "/base/v1/traces" || r.Header.Get("X-Key") != "k" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v: %v", r.URL, r.Header, err)
		}
		got <- all
	}))
	defer collector.Close()
	tracer, err := Open(Config{Endpoint: collector.URL + "/base", Headers: map[string]string{"X-Key": "k"}, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, whole := tracer.Begin(t.Context(), "createBox", parent)
	inner, part := Start(ctx, "create box")
	Step(inner, "prepare").End(errors.New("no room"))
	part.End(nil)
	whole.Note("box", "b1")
	whole.Note("exec", "")
	whole.End(nil)
	tracer.Close(t.Context())
	spans := (<-got).ResourceSpans[0].ScopeSpans[0].Spans
	if len(spans) != 3 {
		t.Fatalf("%+v", spans)
	}
	step, create, request := spans[0], spans[1], spans[2]
	if request.TraceID != parent[3:35] || request.Parent != parent[36:52] || request.Kind != 2 || len(request.Attributes) != 1 || request.Status != nil {
		t.Errorf("the request: %+v", request)
	}
	if create.Parent != request.SpanID || step.Parent != create.SpanID || step.TraceID != request.TraceID || create.Kind != 1 {
		t.Errorf("they are no tree: %+v", spans)
	}
	if step.Status == nil || step.Status.Code != 2 || step.Status.Message != "no room" || step.End < step.Start {
		t.Errorf("the step: %+v", step)
	}
	if sent, dropped := tracer.Counts(); sent != 3 || dropped != 0 {
		t.Errorf("%d arrived, %d were dropped", sent, dropped)
	}
}

// TestChanceAndCallersDecide what is traced.
func TestChanceAndCallersDecide(t *testing.T) {
	for share, want := range map[float64]bool{0: false, 1: true} {
		tracer := &Tracer{sample: share}
		if _, s := tracer.Begin(t.Context(), "x", ""); (s != nil) != want {
			t.Errorf("with a share of %v: %v", share, s)
		}
		if _, s := tracer.Begin(t.Context(), "x", parent); s == nil {
			t.Error("the caller wanted it")
		}
		if _, s := tracer.Begin(t.Context(), "x", parent[:54]+"0"); s != nil {
			t.Error("the caller did not want it")
		}
	}
}

// TestNothingIsPaidWithoutATracer: no allocation where nothing is traced.
func TestNothingIsPaidWithoutATracer(t *testing.T) {
	ctx := context.WithValue(t.Context(), struct{ int }{}, 1)
	var none *Tracer
	if n := testing.AllocsPerRun(100, func() {
		ctx, s := none.Begin(ctx, "createBox", parent)
		ctx, part := Start(ctx, "create box")
		Step(ctx, "prepare").End(nil)
		part.Note("box", "b")
		part.End(nil)
		s.End(nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestACollectorThatHangs costs spans, which are counted, and no caller waits.
func TestACollectorThatHangs(t *testing.T) {
	hang, arrived := make(chan struct{}), make(chan struct{}, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case arrived <- struct{}{}:
		default:
		}
		<-hang
	}))
	defer collector.Close()
	defer close(hang)
	tracer, err := Open(Config{Endpoint: collector.URL, Sample: 1})
	if err != nil {
		t.Fatal(err)
	}
	const many = 2 * mostWaiting
	add := func() {
		_, s := tracer.Begin(t.Context(), "x", "")
		s.End(nil)
	}
	for range batch {
		add()
	}
	<-arrived // from here on nothing is taken
	for range many {
		add()
	}
	if _, dropped := tracer.Counts(); dropped < many-mostWaiting {
		t.Errorf("only %d were dropped", dropped)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	tracer.Close(gone) // nor does the daemon wait for ever
}

// TestACollectorThatRefuses: what it does not take is counted.
func TestACollectorThatRefuses(t *testing.T) {
	collector := httptest.NewServer(http.NotFoundHandler())
	refuses := collector.URL
	defer collector.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, url := range []string{refuses, closed.URL} {
		tracer, err := Open(Config{Endpoint: url, Sample: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, s := tracer.Begin(t.Context(), "x", "")
		s.End(nil)
		tracer.Close(t.Context())
		if sent, dropped := tracer.Counts(); sent != 0 || dropped != 1 {
			t.Errorf("%s: %d arrived, %d were dropped", url, sent, dropped)
		}
	}
	for _, bad := range []string{"", "collector:4318", "ftp://x", "http://"} {
		if _, err := Open(Config{Endpoint: bad}); err == nil {
			t.Errorf("%q is taken for a collector", bad)
		}
	}
}
