package trace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a tracer is made of.
type Config struct {
	// Endpoint is the collector's URL; /v1/traces is added to it, as OTLP has it.
	Endpoint string
	Headers  map[string]string
	Sample   float64 // the share of requests that are traced, where the caller does not say
	Version  string  // of the daemon
	Log      *slog.Logger
}

// What a collector may cost: so many spans wait for it, so many go at once, so often,
// and it gets so long to answer. What is more is dropped, and counted.
const (
	mostWaiting = 4096
	batch       = 512
	sendEvery   = time.Second
	answerTime  = 5 * time.Second
)

// Tracer sends spans to a collector. Its methods do nothing on a nil one.
type Tracer struct {
	Config
	sample float64
	url    string
	web    *http.Client

	waiting       chan *Span
	ending, ended chan struct{}
	end           sync.Once
	sent, dropped atomic.Uint64
	failing       atomic.Bool // the last batch did not arrive: that is logged once
}

// Open begins to send. It connects with the first span.
func Open(c Config) (*Tracer, error) {
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not the URL of a collector: it is like http://127.0.0.1:4318", c.Endpoint)
	}
	if !strings.HasSuffix(u.Path, "/v1/traces") {
		u = u.JoinPath("v1/traces")
	}
	t := &Tracer{
		Config: c, sample: c.Sample, url: u.String(),
		web:     &http.Client{Timeout: answerTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		waiting: make(chan *Span, mostWaiting), ending: make(chan struct{}), ended: make(chan struct{}),
	}
	go t.work()
	return t, nil
}

// Close sends what waits, if the collector takes it before ctx ends.
func (t *Tracer) Close(ctx context.Context) {
	if t == nil {
		return
	}
	t.end.Do(func() { close(t.ending) })
	select {
	case <-t.ended:
	case <-ctx.Done():
	}
}

// Counts are how many spans arrived, and how many were dropped.
func (t *Tracer) Counts() (sent, dropped uint64) {
	if t == nil {
		return 0, 0
	}
	return t.sent.Load(), t.dropped.Load()
}

// add never waits: a collector that is slow costs spans and not requests.
func (t *Tracer) add(s *Span) {
	select {
	case t.waiting <- s:
	default:
		t.dropped.Add(1)
	}
}

func (t *Tracer) work() {
	defer close(t.ended)
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	var spans []*Span
	for {
		select {
		case s := <-t.waiting:
			if spans = append(spans, s); len(spans) < batch {
				continue
			}
		case <-tick.C:
		case <-t.ending:
			t.send(t.rest(spans))
			return
		}
		t.send(spans)
		spans = nil
	}
}

// rest is what waits when the daemon ends.
func (t *Tracer) rest(spans []*Span) []*Span {
	for {
		select {
		case s := <-t.waiting:
			spans = append(spans, s)
		default:
			return spans
		}
	}
}

func (t *Tracer) send(spans []*Span) {
	if len(spans) == 0 {
		return
	}
	err := t.post(encode(spans, t.Version))
	if err == nil {
		t.sent.Add(uint64(len(spans)))
		t.failing.Store(false)
		return
	}
	t.dropped.Add(uint64(len(spans)))
	if !t.failing.Swap(true) && t.Log != nil {
		t.Log.Warn("cannot send traces; they are dropped until the collector takes some", "error", err)
	}
}

func (t *Tracer) post(body []byte) error {
	req, err := http.NewRequest(http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range t.Headers {
		req.Header.Set(name, value)
	}
	resp, err := t.web.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection serves again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %s", resp.Status)
	}
	return nil
}
