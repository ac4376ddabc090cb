//go:build unix

package stdio

import (
	"io"
	"os"
	"syscall"
	"time"
)

// outputRelay copies what a command writes to a file of the caller.
type outputRelay struct {
	from, to *os.File
	done     chan struct{}
}

// run ends when the command's end is closed, when finish says so, or when the
// caller's file breaks. Then the pipe is closed, so that the command gets
// SIGPIPE as it would have without us.
func (r *outputRelay) run() {
	defer close(r.done)
	defer r.from.Close()
	_, err := io.Copy(plainWriter{r.to}, plainReader{r.from})
	if os.IsTimeout(err) {
		r.drain()
	}
}

// finish gives the output a time to end, and then takes what is there.
func (r *outputRelay) finish(patience time.Duration) {
	select {
	case <-r.done:
		return
	case <-time.After(patience):
	}
	r.from.SetReadDeadline(time.Unix(1, 0))
	<-r.done
}

// drain copies what is in the pipe and does not wait for more.
func (r *outputRelay) drain() {
	raw, err := r.from.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 64<<10)
	for {
		n := 0
		raw.Control(func(fd uintptr) { n, _ = syscall.Read(int(fd), buf) }) // not blocking: EAGAIN when empty
		if n <= 0 {
			return
		}
		if _, err := r.to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// plainReader and plainWriter keep io.Copy from splicing, which fails on some
// files (those opened for appending) and hides how far it came.
type plainReader struct{ io.Reader }
type plainWriter struct{ io.Writer }
