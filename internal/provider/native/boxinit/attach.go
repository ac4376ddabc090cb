//go:build linux

package boxinit

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/wire"
)

// attach relays what an exec writes from now on to another caller as well, and
// what that one writes to the exec, if it reads anything.
func (c *child) attach(req Request, files []*os.File) error {
	var in, out *os.File
	for i, slot := range []**os.File{&in, &out} {
		if req.Have[i] && len(files) > 0 {
			*slot, files = files[0], files[1:]
		}
	}
	wire.CloseAll(files...)
	if out != nil {
		if err := c.shareOutput(out); err != nil {
			wire.CloseAll(in)
			return err
		}
	}
	switch {
	case in == nil:
	case c.tty != nil:
		go typeInto(c.tty, in)
	case c.stdin != nil:
		go c.feed(in, req.Last)
	default:
		in.Close()
	}
	return nil
}

// feed passes on what comes in, and its end where that is the last of it.
func (c *child) feed(in *os.File, last bool) {
	typeInto(c.stdin, in)
	if last {
		c.stdin.Close()
	}
}

// shareOutput gives each stream a descriptor of its own: they end apart.
func (c *child) shareOutput(out *os.File) error {
	defer out.Close()
	select {
	case <-c.end:
		return forkbox.Errorf(forkbox.NotFound, "attach to exec "+c.id, "it has ended")
	default:
	}
	for _, r := range c.out {
		fd, err := unix.FcntlInt(out.Fd(), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return err
		}
		r.share(os.NewFile(uintptr(fd), "attached"))
	}
	return nil
}
