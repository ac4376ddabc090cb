package terminal

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/forkbox/forkbox"
)

// Progress says what takes so long, on a terminal and after a second. The
// function it returns takes the line away again.
func (t *Terminal) Progress(what string) (done func()) {
	return t.ProgressOf(func() string { return what })
}

// ProgressOf is progress for what has something new to say every second.
func (t *Terminal) ProgressOf(what func() string) (done func()) {
	if t.JSON || !IsTerminal(t.Stderr) {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		t.showProgress(what, stop)
	}()
	return func() { close(stop); <-stopped }
}

func (t *Terminal) showProgress(what func() string, stop <-chan struct{}) {
	began := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	shown := false
	for {
		select {
		case <-tick.C:
			shown = true
			fmt.Fprintf(t.Stderr, "\r\x1b[K%s … %ds", what(), int(time.Since(began).Seconds()))
		case <-stop:
			if shown {
				fmt.Fprint(t.Stderr, "\r\x1b[K")
			}
			return
		}
	}
}

// Flow counts the bytes that go by, for the progress of a transfer.
type Flow struct {
	What  string
	Total int64 // zero where that is not known
	Done  atomic.Int64
}

func (f *Flow) Text() string {
	n := f.Done.Load()
	switch {
	case n == 0:
		return f.What
	case f.Total > 0:
		return fmt.Sprintf("%s, %s of %s", f.What, forkbox.FormatSize(n), forkbox.FormatSize(f.Total))
	}
	return fmt.Sprintf("%s, %s", f.What, forkbox.FormatSize(n))
}

func (f *Flow) Reader(r io.Reader) io.Reader { return io.TeeReader(r, (*flowCounter)(f)) }

func (f *Flow) Writer(w io.Writer) io.Writer { return io.MultiWriter(w, (*flowCounter)(f)) }

type flowCounter Flow

func (c *flowCounter) Write(p []byte) (int, error) {
	c.Done.Add(int64(len(p)))
	return len(p), nil
}
