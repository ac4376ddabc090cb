// Package metrics counts what a daemon does, for scrapers of Prometheus' text
// format. It tells totals of all users and, of what each user takes, to a user only
// their own. Why it writes that format itself is in decision 47.
package metrics

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Source is where figures come from that are looked up when a scraper asks.
type Source struct {
	Boxes   func() map[string]int // by state
	Waiting func() int            // requests that wait for the host
	Free    func() float64        // bytes left for the store
	// Disk is what the things of each owner take, by uid, and when that was
	// measured: nothing is measured for a scraper.
	Disk func() (byOwner map[int]int64, measured time.Time)
	// Decided is how many connections gates allowed and refused, and Cleared what
	// gc did.
	Decided func() (allowed, refused uint64)
	Cleared func() (runs, boxes int, bytes int64)
}

// Metrics is safe for concurrent use.
type Metrics struct {
	from    Source
	version string
	began   time.Time
	spans   func() (sent, dropped uint64) // nil: none are made

	mu         sync.Mutex
	requests   map[[2]string]uint64 // by route and code
	latency    map[string]*histogram
	operations map[string]*histogram
	errors     map[string]uint64
	ledger     histogram
	waits      histogram
}

// bounds go from a tenth of a millisecond to a minute: making a box takes some
// milliseconds, applying its changes may take seconds.
var bounds = [...]float64{.0001, .0005, .001, .002, .004, .008, .016, .032, .064, .128, .256, .512, 1, 2, 4, 8, 16, 32, 64}

// histogram counts spans of time, each in the first bound that it is not above.
type histogram struct {
	counts [len(bounds) + 1]uint64
	sum    float64
}

func (h *histogram) add(took time.Duration) {
	s := took.Seconds()
	i := 0
	for i < len(bounds) && s > bounds[i] {
		i++
	}
	h.counts[i]++
	h.sum += s
}

// watched are the operations that are measured: those that a caller waits for.
// What follows something lasts as long as its caller wants.
var watched = map[string]string{
	"create box": "create", "exec": "exec", "fork": "fork", "start box": "start", "stop box": "stop", "remove box": "remove",
	"make snapshot": "snapshot", "roll back": "rollback", "apply": "apply", "undo": "undo", "sync": "sync",
	"discard changes": "discard", "collect garbage": "gc",
}

// waits is what the engine calls the wait for the host.
const waits = "wait for the host"

// New makes metrics of a daemon.
func New(from Source) *Metrics {
	return &Metrics{
		from: from, began: time.Now(), requests: map[[2]string]uint64{}, errors: map[string]uint64{},
		latency: map[string]*histogram{}, operations: map[string]*histogram{},
	}
}

// Traces has be told how many spans arrived at the collector and how many were
// dropped.
func (m *Metrics) Traces(counts func() (sent, dropped uint64)) { m.spans = counts }

// Version has the daemon's version be told.
func (m *Metrics) Version(version string) { m.version = version }

// Request counts a request by the name of its route and what became of it: "ok",
// or the code of its error.
func (m *Metrics) Request(route, code string, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[[2]string{route, code}]++
	of(m.latency, route).add(took)
	if code != "ok" {
		m.errors[code]++
	}
}

// Operation counts an operation of the engine, by the engine's name for it.
func (m *Metrics) Operation(op string, took time.Duration) {
	name, ok := watched[op]
	if !ok && op != waits {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if op == waits {
		m.waits.add(took)
		return
	}
	of(m.operations, name).add(took)
}

func of(all map[string]*histogram, name string) *histogram {
	h := all[name]
	if h == nil {
		h = &histogram{}
		all[name] = h
	}
	return h
}

// Write counts a write to the ledger.
func (m *Metrics) Write(took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledger.add(took)
}

// Answer answers a scraper. What is told by owner is that of one uid, or of all
// where it is nil.
func (m *Metrics) Answer(w http.ResponseWriter, uid *int) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	io.WriteString(w, m.text(uid))
}

func (m *Metrics) text(uid *int) string {
	states := m.from.Boxes()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &page{}
	p.head("forkbox_info", "gauge", "1, with the daemon's version.")
	p.line("forkbox_info", labels("version", m.version), 1)
	p.gauge("forkbox_start_time_seconds", "When the daemon began, in seconds since 1970.", float64(m.began.Unix()))
	p.head("forkbox_boxes", "gauge", "Boxes by state, of all users.")
	for _, state := range slices.Sorted(maps.Keys(states)) {
		p.line("forkbox_boxes", labels("state", state), float64(states[state]))
	}
	p.gauge("forkbox_queue_length", "Requests that wait for the host to have room.", float64(m.from.Waiting()))
	p.head("forkbox_queue_wait_seconds", "histogram", "How long requests waited that had to, until they had a place or were refused.")
	p.histogram("forkbox_queue_wait_seconds", nil, &m.waits)
	p.gauge("forkbox_store_free_bytes", "What is left of the filesystem that boxes lie on.", m.from.Free())
	p.disk(m.from.Disk, uid)
	allowed, refused := m.from.Decided()
	p.head("forkbox_gate_decisions_total", "counter", "Attempts of boxes to reach something, by what their gates decided.")
	p.line("forkbox_gate_decisions_total", labels("decision", "allowed"), float64(allowed))
	p.line("forkbox_gate_decisions_total", labels("decision", "denied"), float64(refused))
	runs, boxes, freed := m.from.Cleared()
	p.counter("forkbox_gc_runs_total", "How often gc ran, by itself or because it was asked to.", float64(runs))
	p.counter("forkbox_gc_removed_boxes_total", "Boxes that gc removed.", float64(boxes))
	p.counter("forkbox_gc_freed_bytes_total", "Bytes that gc freed.", float64(freed))
	p.histograms("forkbox_operation_seconds", "How long operations took, with their wait for the host; exec is until the command runs.", "operation", m.operations)
	p.head("forkbox_requests_total", "counter", "Requests by route and by what became of them: ok, or the code of the error.")
	for _, k := range slices.SortedFunc(maps.Keys(m.requests), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		p.line("forkbox_requests_total", labels("route", k[0], "code", k[1]), float64(m.requests[k]))
	}
	p.histograms("forkbox_request_seconds", "How long requests took, by route.", "route", m.latency)
	p.head("forkbox_errors_total", "counter", "Requests that failed, by the code of the error.")
	for _, code := range slices.Sorted(maps.Keys(m.errors)) {
		p.line("forkbox_errors_total", labels("code", code), float64(m.errors[code]))
	}
	p.head("forkbox_ledger_write_seconds", "histogram", "How long writes to the ledger took.")
	p.histogram("forkbox_ledger_write_seconds", nil, &m.ledger)
	p.head("forkbox_trace_spans_total", "counter", "Spans of traces by what became of them: sent to the collector, or dropped.")
	if m.spans != nil {
		sent, dropped := m.spans()
		p.line("forkbox_trace_spans_total", labels("outcome", "sent"), float64(sent))
		p.line("forkbox_trace_spans_total", labels("outcome", "dropped"), float64(dropped))
	}
	p.gauge("go_goroutines", "Goroutines of the daemon.", float64(runtime.NumGoroutine()))
	p.gauge("go_memstats_heap_inuse_bytes", "Memory of the daemon's heap that is in use.", float64(memory.HeapInuse))
	p.gauge("go_memstats_sys_bytes", "Memory that the daemon has of the system.", float64(memory.Sys))
	return p.String()
}

// page is text in Prometheus' format.
type page struct{ strings.Builder }

func (p *page) head(name, kind, help string) {
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (p *page) gauge(name, help string, value float64) {
	p.head(name, "gauge", help)
	p.line(name, nil, value)
}

func (p *page) counter(name, help string, value float64) {
	p.head(name, "counter", help)
	p.line(name, nil, value)
}

// disk has what each owner's things took when that was last measured, and when.
func (p *page) disk(measure func() (map[int]int64, time.Time), only *int) {
	byOwner, at := measure()
	p.head("forkbox_disk_bytes", "gauge", "What the boxes, snapshots and templates of a user take, when that was last measured.")
	for _, uid := range slices.Sorted(maps.Keys(byOwner)) {
		if only == nil || *only == uid {
			p.line("forkbox_disk_bytes", labels("uid", strconv.Itoa(uid)), float64(byOwner[uid]))
		}
	}
	p.head("forkbox_disk_measured_timestamp_seconds", "gauge", "When that was, in seconds since 1970.")
	if !at.IsZero() {
		p.line("forkbox_disk_measured_timestamp_seconds", nil, float64(at.Unix()))
	}
}

func (p *page) line(name string, labels []string, value float64) {
	p.WriteString(name)
	if len(labels) > 0 {
		p.WriteString("{" + strings.Join(labels, ",") + "}")
	}
	p.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

func (p *page) histograms(name, help, label string, all map[string]*histogram) {
	p.head(name, "histogram", help)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		p.histogram(name, labels(label, key), all[key])
	}
}

func (p *page) histogram(name string, with []string, h *histogram) {
	var n uint64
	for i, bound := range bounds {
		n += h.counts[i]
		p.line(name+"_bucket", slices.Concat(with, labels("le", strconv.FormatFloat(bound, 'g', -1, 64))), float64(n))
	}
	n += h.counts[len(bounds)]
	p.line(name+"_bucket", slices.Concat(with, labels("le", "+Inf")), float64(n))
	p.line(name+"_sum", with, h.sum)
	p.line(name+"_count", with, float64(n))
}

// escape has a label's value stay one.
var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func labels(pairs ...string) (all []string) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, pairs[i]+`="`+escape.Replace(pairs[i+1])+`"`)
	}
	return all
}
