//go:build unix

package stdio

import (
	"bytes"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// fileInput copies a regular file to a command. It reads at positions of its
// own, so that the offset which the caller shares with others moves only by
// what the command consumed: (forkbox run -- head -1; cat) < file.
type fileInput struct {
	from, to *os.File
	end      *os.File // the command's end, kept to see what is left in it
	start    int64
	written  int64
	done     chan struct{}
}

func newFileInput(from, to, end *os.File) *fileInput {
	start, _ := from.Seek(0, io.SeekCurrent)
	return &fileInput{from: from, to: to, end: end, start: start, done: make(chan struct{})}
}

func (r *fileInput) run() {
	defer close(r.done)
	defer r.to.Close()
	r.written, _ = io.Copy(plainWriter{r.to}, io.NewSectionReader(r.from, r.start, 1<<62))
}

func (r *fileInput) stop() {
	r.to.SetWriteDeadline(time.Unix(1, 0))
	<-r.done
	left := unread(r.end.Fd())
	r.end.Close()
	r.from.Seek(r.start+r.written-left, io.SeekStart)
}

// liveInput copies what comes from a terminal, a named pipe or a device. What
// was not read yet stays there: after stop, the caller can read on.
type liveInput struct {
	from, to    *os.File
	woken, wake *os.File // a pipe whose closing ends the wait
	done        chan struct{}

	keys  *detachKeys // where the caller can leave the command alone: how,
	leave func()      // and what happens then

	suspend *suspender // where ctrl-Z is the command's; else nil
}

func newLiveInput(from, to *os.File) (*liveInput, error) {
	woken, wake, err := os.Pipe()
	if err != nil {
		to.Close()
		return nil, err
	}
	return &liveInput{from: from, to: to, woken: woken, wake: wake, done: make(chan struct{})}, nil
}

func (r *liveInput) run() {
	defer close(r.done)
	defer r.to.Close()
	buf := make([]byte, 32<<10)
	for r.ready() {
		n, err := unix.Read(int(r.from.Fd()), buf)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case n <= 0:
			return
		}
		if !r.pass(buf[:n]) {
			return
		}
	}
}

// pass writes what was read, and has ctrl-Z do what it does; false means stop.
func (r *liveInput) pass(text []byte) bool {
	for r.suspend != nil {
		before, after, found := bytes.Cut(text, []byte{ctrlZ})
		if !found {
			break
		}
		if !r.write(before) {
			return false
		}
		if !r.suspend.stop() && !r.write([]byte{ctrlZ}) {
			return false
		}
		text = after
	}
	return r.write(text)
}

func (r *liveInput) write(text []byte) bool {
	detach := false
	if r.keys != nil {
		text, detach = r.keys.pass(text)
	}
	if _, err := r.to.Write(text); err != nil {
		return false
	}
	if detach {
		r.leave()
	}
	return !detach
}

// ready waits until there is something to read; false means stop. A process in
// the background does not touch its terminal: reading would stop it, and a
// command that does not read would not have been stopped without us.
func (r *liveInput) ready() bool {
	woken, from := int32(r.woken.Fd()), int32(r.from.Fd())
	for {
		fds := []unix.PollFd{{Fd: woken, Events: unix.POLLIN}}
		timeout := 200 // look again whether we are in the foreground
		if InForeground(r.from) {
			if r.suspend != nil {
				r.suspend.inForeground()
			}
			fds, timeout = append(fds, unix.PollFd{Fd: from, Events: unix.POLLIN}), -1
		}
		_, err := unix.Poll(fds, timeout)
		switch {
		case err != nil && err != unix.EINTR:
			return false
		case err == nil && fds[0].Revents != 0:
			return false
		case err == nil && len(fds) > 1 && fds[1].Revents != 0 && InForeground(r.from):
			return true
		}
	}
}

func (r *liveInput) stop() {
	r.wake.Close()
	r.to.SetWriteDeadline(time.Unix(1, 0))
	<-r.done
	r.woken.Close()
}

// InForeground is false for a terminal that another process group is using.
func InForeground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
