//go:build linux

package boxinit

import (
	"errors"
	"os"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/execlog"
	"github.com/forkbox/forkbox/internal/wire"
)

// prepare connects an exec: a terminal of its own, or pipes whose other ends
// are relayed to the caller and kept in the log. The command never gets the
// caller's terminal (it could type into it) nor a file of reality (it could
// be reopened for writing through /proc); the client hands over only pipes.
func (c *child) prepare(args *ExecArgs, stdio forkbox.Stdio) (*spawnArgs, error) {
	who, err := identify(args.User, args.Owner, c.rootless)
	if err != nil {
		return nil, err
	}
	if st, err := os.Stat(args.Dir); err != nil || !st.IsDir() {
		return nil, forkbox.Errorf(forkbox.Invalid, "run "+CommandName(args.Argv), "the directory %s does not exist in the box", args.Dir).
			Hint("choose another with -w DIR")
	}
	path, err := lookPath(CommandName(args.Argv), args.Dir, args.Env)
	if err != nil {
		return nil, err
	}
	s := &spawnArgs{path: path, dir: args.Dir, umask: args.Umask, who: who}
	s.env = append(args.Env, ExecVariable+"="+c.id, "PWD="+args.Dir)
	if args.TTY {
		err = c.terminal(s, args, who, stdio)
	} else {
		err = c.pipes(s, args.Open, stdio)
	}
	s.extra(stdio.Extra)
	return s, err
}

// extra gives the command the caller's further pipes under their numbers.
func (s *spawnArgs) extra(files map[int]*os.File) {
	for number, f := range files {
		s.files[number] = f
		s.ends = append(s.ends, f)
	}
}

// CommandName is the command that the caller typed, as errors name it.
func CommandName(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	return argv[0]
}

// terminal gives the exec a pty of the box's own devpts.
func (c *child) terminal(s *spawnArgs, args *ExecArgs, who *syscall.Credential, stdio forkbox.Stdio) error {
	master, slave, err := openTerminal()
	if err != nil {
		return err
	}
	c.tty, c.slave = master, slave
	if who != nil {
		_ = slave.Chown(int(who.Uid), -1)
	}
	if args.Size.Cols > 0 {
		_ = c.resize(args.Size)
	}
	s.files, s.ctty = map[int]*os.File{0: slave, 1: slave, 2: slave}, true
	c.out = []*relay{newRelay(master, stdio.Out, c.log, execlog.Stdout)}
	wire.CloseAll(stdio.Err)
	if stdio.In != nil {
		go typeInto(master, stdio.In)
	}
	return nil
}

// openTerminal opens both sides of a pty. The relay must be able to stop reading
// the master; as it comes from package pty, a read of it cannot be given up.
func openTerminal() (master, slave *os.File, err error) {
	blocking, slave, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer blocking.Close()
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		slave.Close()
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd), blocking.Name()), slave, nil
}

// typeInto copies what the caller types. When the caller is gone the
// terminal hangs up with it.
func typeInto(master, in *os.File) {
	defer in.Close()
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			if _, werr := master.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (c *child) pipes(s *spawnArgs, open bool, stdio forkbox.Stdio) error {
	in, err := c.input(stdio.In, open || stdio.Stream != nil && stdio.Stream.Stdin)
	if err != nil {
		return err
	}
	s.ends = append(s.ends, in)
	out, err := c.pipe(s, stdio.Out, execlog.Stdout)
	if err != nil {
		return err
	}
	errOut := out
	// 2>&1: one pipe for both keeps the order of what is written.
	if stdio.Stream != nil && stdio.Stream.Merge || same(stdio.Out, stdio.Err) {
		wire.CloseAll(stdio.Err)
	} else if errOut, err = c.pipe(s, stdio.Err, execlog.Stderr); err != nil {
		return err
	}
	s.files = map[int]*os.File{0: in, 1: out, 2: errOut}
	return nil
}

// input is what the exec reads. One that stays open is a pipe into which nothing
// is written until a client attaches.
func (c *child) input(given *os.File, open bool) (in *os.File, err error) {
	switch {
	case given != nil:
		return given, nil
	case open:
		in, c.stdin, err = os.Pipe()
		return in, err
	}
	return os.Open(os.DevNull)
}

// pipe makes one whose write end is the command's and whose read end is
// relayed to the caller's file.
func (c *child) pipe(s *spawnArgs, to *os.File, stream execlog.Stream) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.ends = append(s.ends, w)
	c.out = append(c.out, newRelay(r, to, c.log, stream))
	return w, nil
}

func same(a, b *os.File) bool {
	if a == nil || b == nil {
		return false
	}
	x, err := a.Stat()
	y, err2 := b.Stat()
	return err == nil && err2 == nil && os.SameFile(x, y)
}

func (c *child) resize(size forkbox.Size) error {
	if c.tty == nil {
		return forkbox.Errorf(forkbox.Invalid, "resize", "exec %s has no terminal", c.id)
	}
	conn, err := c.tty.SyscallConn() // unlike Fd it minds that the relay may close it
	if err != nil {
		return err
	}
	cerr := conn.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
	return errors.Join(err, cerr)
}
