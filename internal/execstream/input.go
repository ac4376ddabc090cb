package execstream

import (
	"io"
	"sync"
)

// input is what a reader sent and the exec has not read yet.
type input struct {
	to io.Writer // the exec's stdin, or its terminal
	// shut is called when what was sent has been written and nothing more comes.
	shut func()

	mu       sync.Mutex
	changed  sync.Cond
	buf      []byte
	received int64 // by this end
	written  int64 // to the exec
	closed   bool  // nothing more comes
	broken   bool  // the exec reads no more
	over     bool  // the exec has ended
}

func newInput(to io.Writer, shut func()) *input {
	in := &input{to: to, shut: shut}
	in.changed.L = &in.mu
	return in
}

// take keeps what was sent. It is false when that is more than was allowed.
func (in *input) take(p []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if int64(len(p)) > InputWindow-(in.received-in.written) {
		return false
	}
	in.received += int64(len(p))
	if in.closed || in.broken || in.over {
		in.written = in.received
		return true
	}
	in.buf = append(in.buf, p...)
	in.changed.Broadcast()
	return true
}

// close says that nothing more comes. It can be repeated.
func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	in.changed.Broadcast()
}

// end gives up: the exec has ended.
func (in *input) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.over = true
	in.changed.Broadcast()
}

func (in *input) state() (received, written int64, broken bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.received, in.written, in.broken
}

// pump writes what comes to the exec, and tells after each piece.
func (in *input) pump(tell func()) {
	for {
		p, more := in.next()
		if !more {
			return
		}
		n, err := in.to.Write(p)
		in.wrote(n, err)
		tell()
		if err != nil {
			return
		}
	}
}

// next waits for something to write.
func (in *input) next() (p []byte, more bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.buf) == 0 && !in.closed && !in.over {
		in.changed.Wait()
	}
	if in.over {
		return nil, false
	}
	if len(in.buf) == 0 {
		in.shut()
		return nil, false
	}
	p, in.buf = in.buf, nil
	return p, true
}

func (in *input) wrote(n int, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.written += int64(n)
	if err != nil {
		in.broken, in.buf, in.written = true, nil, in.received
	}
}
