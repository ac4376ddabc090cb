// Package trace tells a collector how long the steps of a request took, as spans
// in OTLP's JSON over HTTP. Spans travel in contexts. Where none is in a context
// nothing is measured and nothing is allocated: a daemon that was not told of a
// collector pays for a look into the context. Why it speaks OTLP itself is in
// decision 50.
package trace

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"time"
)

// Span is something that takes time. Its methods do nothing on a nil one.
type Span struct {
	tracer       *Tracer
	trace        [16]byte
	id, parent   [8]byte
	server       bool // it answers a request
	name         string
	began, ended time.Time
	attributes   [][2]string
	failed       bool
	failure      string
}

type spanKey struct{}

// Of is the span that something is a part of; nil for none.
func Of(ctx context.Context) *Span {
	s, _ := ctx.Value(spanKey{}).(*Span)
	return s
}

// Start begins a part of what the context belongs to. Of what is not traced no part
// is either.
func Start(ctx context.Context, name string) (context.Context, *Span) {
	whole := Of(ctx)
	if whole == nil {
		return ctx, nil
	}
	s := &Span{tracer: whole.tracer, trace: whole.trace, parent: whole.id, id: newID(), name: name, began: time.Now()}
	return context.WithValue(ctx, spanKey{}, s), s
}

// Step begins a part that has none itself.
func Step(ctx context.Context, name string) *Span {
	_, s := Start(ctx, name)
	return s
}

// Past is a part that is over, of which it is known when it began.
func Past(ctx context.Context, name string, began time.Time) {
	if s := Step(ctx, name); s != nil {
		s.began = began
		s.End(nil)
	}
}

// Begin begins a request, as a part of what the caller's traceparent says. The
// caller decides whether it is traced; without one, chance does.
func (t *Tracer) Begin(ctx context.Context, name, traceparent string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	s := &Span{tracer: t, server: true, id: newID(), name: name, began: time.Now()}
	trace, parent, sampled, ok := readParent(traceparent)
	switch {
	case ok && !sampled, !ok && rand.Float64() >= t.sample:
		return ctx, nil
	case ok:
		s.trace, s.parent = trace, parent
	default:
		first, second := newID(), newID()
		copy(s.trace[:8], first[:])
		copy(s.trace[8:], second[:])
	}
	return context.WithValue(ctx, spanKey{}, s), s
}

// Note says something about a span.
func (s *Span) Note(name, value string) {
	if s != nil && value != "" {
		s.attributes = append(s.attributes, [2]string{name, value})
	}
}

// End ends a span, once, and says whether it failed.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if s.ended = time.Now(); err != nil {
		s.failed, s.failure = true, err.Error()
	}
	s.tracer.add(s)
}

// TraceID is what the trace is called, in logs as well.
func (s *Span) TraceID() string {
	if s == nil {
		return ""
	}
	return hex.EncodeToString(s.trace[:])
}

// newID is never zero, which stands for none.
func newID() (id [8]byte) {
	n := rand.Uint64() | 1
	for i := range id {
		id[i] = byte(n >> (8 * i))
	}
	return id
}

// readParent takes W3C's traceparent apart: version, trace, parent and flags, in
// hexadecimal. What is malformed is as if it were not there, as the standard has it.
func readParent(text string) (trace [16]byte, parent [8]byte, sampled, ok bool) {
	const length = len("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
	if len(text) < length || len(text) > length && (text[:2] == "00" || text[length] != '-') || text[:2] == "ff" || text != strings.ToLower(text) {
		return trace, parent, false, false
	}
	var version, flags [1]byte
	for _, part := range []struct {
		into []byte
		text string
	}{{version[:], text[:2]}, {trace[:], text[3:35]}, {parent[:], text[36:52]}, {flags[:], text[53:55]}} {
		if _, err := hex.Decode(part.into, []byte(part.text)); err != nil {
			return trace, parent, false, false
		}
	}
	ok = text[2] == '-' && text[35] == '-' && text[52] == '-' && trace != [16]byte{} && parent != [8]byte{}
	return trace, parent, flags[0]&1 == 1, ok
}
