//go:build linux

package boxinit

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/execlog"
	"github.com/forkbox/forkbox/internal/execstream"
	"github.com/forkbox/forkbox/internal/wire"
)

// relay carries one stream of an exec from its pipe or terminal to the
// caller, and keeps a copy in the log.
type relay struct {
	from    *os.File
	to      *os.File // nil: only kept
	log     *execlog.Writer
	stream  execlog.Stream
	mu      sync.Mutex
	also    *os.File // who attached later
	over    bool     // nothing is passed to who attached any more
	passing sync.Mutex
	total   int64                             // bytes that were passed on
	window  atomic.Pointer[execstream.Window] // what is kept for a reader
	once    sync.Once
	drained chan struct{} // closed when everything written before the exit was relayed
	done    chan struct{} // closed when no process can write any more
}

// buffers are used again: fresh memory costs more than what most execs write.
var buffers = sync.Pool{New: func() any { return new([blockSize]byte) }}

const blockSize = 32 << 10

func newRelay(from, to *os.File, log *execlog.Writer, stream execlog.Stream) *relay {
	return &relay{from: from, to: to, log: log, stream: stream, drained: make(chan struct{}), done: make(chan struct{})}
}

func (r *relay) run() {
	defer close(r.done)
	defer r.settled()
	defer wire.CloseAll(r.to)
	defer r.alone()
	defer r.from.Close()
	block := buffers.Get().(*[blockSize]byte)
	defer buffers.Put(block)
	buf := block[:]
	for {
		n, err := r.from.Read(buf)
		if n > 0 && !r.pass(buf[:n]) {
			return // closing from gives the command the SIGPIPE it would have had
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			_ = r.from.SetReadDeadline(noDeadline)
			if !r.rest(buf) {
				return
			}
			r.settled()
		case err != nil:
			return
		}
	}
}

// drain has drained closed when what the exec wrote before it ended has been
// passed on. Reading until end of file would wait for daemons that it left behind.
func (r *relay) drain() {
	if err := r.from.SetReadDeadline(past); err != nil {
		r.settled()
	}
}

// rest passes on what is in the pipe now, without waiting for more.
func (r *relay) rest(buf []byte) bool {
	conn, err := r.from.SyscallConn()
	if err != nil {
		return false
	}
	for {
		n := 0
		err := conn.Read(func(fd uintptr) bool {
			n, err = unix.Read(int(fd), buf)
			return true
		})
		if err != nil || n <= 0 {
			return true
		}
		if !r.pass(buf[:n]) {
			return false
		}
	}
}

// pass writes to the caller first: the log must never be ahead of what the
// caller saw. It reports whether the caller still listens.
func (r *relay) pass(p []byte) bool {
	ok := true
	if r.to != nil {
		_, err := r.to.Write(p)
		ok = err == nil
	}
	wanted := r.keep(p)
	r.passOn(p)
	return ok && wanted
}

// keep waits for the reader, where there is one. It holds a lock, so that a
// window which begins to be kept begins where the log ends.
func (r *relay) keep(p []byte) (wanted bool) {
	r.passing.Lock()
	defer r.passing.Unlock()
	r.total += int64(len(p))
	wanted = true
	if w := r.window.Load(); w != nil {
		wanted = w.Write(p)
	}
	r.log.Write(r.stream, p)
	return wanted
}

// passOn writes to who attached later. One that goes away is forgotten: the
// command is not theirs.
func (r *relay) passOn(p []byte) {
	r.mu.Lock()
	also := r.also
	r.mu.Unlock()
	if also == nil {
		return
	}
	if _, err := also.Write(p); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.also == also {
			also.Close()
			r.also = nil
		}
	}
}

// share has what comes from now on go to another file as well, which replaces
// the one before.
func (r *relay) share(to *os.File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wire.CloseAll(r.also)
	r.also = to
	if r.over {
		wire.CloseAll(to)
		r.also = nil
	}
}

// alone lets go of who attached: the stream has ended.
func (r *relay) alone() {
	r.share(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}

func (r *relay) settled() { r.once.Do(func() { close(r.drained) }) }

func (r *relay) wait() { <-r.done }

// abandon closes the ends of a relay that never ran.
func (r *relay) abandon() { r.from.Close() }
