package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// progress says what takes so long, on a terminal and after a second. The
// function it returns takes the line away again.
func (t *console) progress(what string) (done func()) {
	return t.progressOf(func() string { return what })
}

// progressOf is progress for what has something new to say every second.
func (t *console) progressOf(what func() string) (done func()) {
	if t.json || !isTerminal(t.stderr) {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		t.showProgress(what, stop)
	}()
	return func() { close(stop); <-stopped }
}

func (t *console) showProgress(what func() string, stop <-chan struct{}) {
	began := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	shown := false
	for {
		select {
		case <-tick.C:
			shown = true
			fmt.Fprintf(t.stderr, "\r\x1b[K%s … %ds", what(), int(time.Since(began).Seconds()))
		case <-stop:
			if shown {
				fmt.Fprint(t.stderr, "\r\x1b[K")
			}
			return
		}
	}
}

// flow counts the bytes that go by, for the progress of a transfer.
type flow struct {
	what  string
	total int64 // zero where nobody knows
	done  atomic.Int64
}

func (f *flow) text() string {
	n := f.done.Load()
	switch {
	case n == 0:
		return f.what
	case f.total > 0:
		return fmt.Sprintf("%s, %s of %s", f.what, size(n), size(f.total))
	}
	return fmt.Sprintf("%s, %s", f.what, size(n))
}

func (f *flow) reader(r io.Reader) io.Reader { return io.TeeReader(r, (*flowCounter)(f)) }

func (f *flow) writer(w io.Writer) io.Writer { return io.MultiWriter(w, (*flowCounter)(f)) }

type flowCounter flow

func (c *flowCounter) Write(p []byte) (int, error) {
	c.done.Add(int64(len(p)))
	return len(p), nil
}
