//go:build linux

package boxinit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/execlog"
	"github.com/forkbox/forkbox/internal/execstream"
	"github.com/forkbox/forkbox/internal/wire"
)

// child is an exec that runs.
type child struct {
	id       string
	pid      int
	rootless bool
	log      *execlog.Writer
	tty      *os.File // the master side, with a terminal
	slave    *os.File // its other side: as long as init has it open, the terminal does not hang up
	out      []*relay
	stdin    *os.File // the write end of a stdin that stays open for who attaches
	group    string   // how the name of its cgroup ends
	stamp    uint64   // of all its processes
	status   chan syscall.WaitStatus
	end      chan struct{} // closed when it has ended
	hasty    chan struct{} // closed when its reader is not waited for any more; see hurry
	once     sync.Once

	streaming sync.Mutex // while a reader attaches
	mu        sync.Mutex
	source    *execstream.Source // its reader, where that is over a link
	why       string             // why we ended it, where its reader would not know
	cause     forkbox.Cause      // why we ended it, if we did
	forced    bool               // and it took KILL
	ending    sync.WaitGroup     // while we are at it
}

// start runs a command, whose exit watch writes to the log. Of one that could not
// be started the daemon, which gets the error, records the exit.
func (p *pid1) start(id string, args *ExecArgs, files []*os.File) error {
	if args == nil {
		return forkbox.Errorf(forkbox.Invalid, "run a command", "nothing to run")
	}
	stdio, log, enter := unpack(args, files)
	defer wire.CloseAll(enter...)
	c := &child{id: id, rootless: p.config.Rootless, group: args.Group, status: make(chan syscall.WaitStatus, 1), end: make(chan struct{}), hasty: make(chan struct{})}
	c.log = execlog.NewWriter(log, args.LogCap)
	stdio.Stream = args.Stream
	spawn, err := c.prepare(args, stdio)
	if err == nil {
		spawn.enter = enter
		err = p.spawn(c, args, spawn)
	}
	if spawn != nil {
		spawn.closeChildEnds()
	}
	if err != nil {
		for _, r := range c.out {
			r.abandon()
		}
		stdio.Close()
		wire.CloseAll(c.tty, c.slave, c.stdin, log)
		return err
	}
	if args.Stream != nil {
		c.keepFor(*args.Stream)
	}
	for _, r := range c.out {
		go r.run()
	}
	go p.watch(c, args.Timeout, log)
	return nil
}

// unpack sorts the files that came with a request.
func unpack(args *ExecArgs, files []*os.File) (stdio forkbox.Stdio, log *os.File, enter []*os.File) {
	next := func() (f *os.File) {
		if len(files) > 0 {
			f, files = files[0], files[1:]
		}
		return f
	}
	for i, slot := range []**os.File{&stdio.In, &stdio.Out, &stdio.Err, &log} {
		if args.Have[i] {
			*slot = next()
		}
	}
	stdio.Extra = map[int]*os.File{}
	for _, number := range args.Extra {
		if f := next(); f != nil && number > 2 && number <= forkbox.MaxFD {
			stdio.Extra[number] = f
		}
	}
	enter = files[:min(args.Enter, len(files))]
	wire.CloseAll(files[len(enter):]...)
	return stdio, log, enter
}

func startError(name string, err error, dir string) error {
	code := forkbox.NotExecutable
	if errors.Is(err, syscall.ENOENT) {
		code = forkbox.CommandNotFound
	}
	e := forkbox.Errorf(code, "run "+name, "%w", err)
	if dir != "" && errors.Is(err, syscall.EACCES) {
		e.Hint("if it is the directory %s that this user may not enter, choose another with -w DIR", dir)
	}
	return e
}

// watch waits for the end of an exec and passes it on, after the output that
// came before it.
func (p *pid1) watch(c *child, timeout time.Duration, log *os.File) {
	if timeout > 0 {
		timer := time.AfterFunc(timeout, func() { _ = c.kill(timeoutGrace, forkbox.CauseTimeout) })
		defer timer.Stop()
	}
	status := <-c.status
	close(c.end)
	c.ending.Wait() // its exit tells what it took to end all of it
	caller := patience{hasty: c.hasty}
	for _, r := range c.out {
		r.drain()
		caller.await(r.drained)
	}
	wire.CloseAll(c.slave) // not before: a command may close all that it has of its terminal and go on
	exit := c.exit(status)
	if source := c.reader(); source != nil {
		source.Finish(caller.await)
	}
	_ = c.log.End(exit)
	p.finish(c, Exited{ID: c.id, Exit: exit, Output: c.log.Output()})
	for _, r := range c.out {
		r.wait() // processes it left behind may still write
	}
	wire.CloseAll(c.tty, c.stdin, log)
}

// exit turns a wait status into what a shell would report.
func (c *child) exit(status syscall.WaitStatus) forkbox.Exit {
	c.mu.Lock()
	cause, forced, why := c.cause, c.forced, c.why
	c.mu.Unlock()
	e := forkbox.Exit{Code: status.ExitStatus(), Cause: forkbox.CauseExited}
	if status.Signaled() {
		e = forkbox.Exit{Code: 128 + int(status.Signal()), Cause: forkbox.CauseSignalled, Signal: unix.SignalName(status.Signal())}
	}
	if cause != "" {
		e.Cause, e.Forced = cause, forced
	}
	if why != "" {
		e.Why, e.By = why, "forkbox"
	}
	if cause == forkbox.CauseTimeout {
		e.Code = 124
	}
	return e
}

// lookPath finds a command as execvp would, with the PATH of the exec.
func lookPath(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", forkbox.Errorf(forkbox.CommandNotFound, "run a command", "its name is empty")
	}
	if strings.Contains(name, "/") {
		return name, nil // the kernel says what is wrong with it
	}
	found := syscall.ENOENT
	for _, entry := range filepath.SplitList(getenv(env, "PATH", "/usr/local/bin:/usr/bin:/bin")) {
		path := filepath.Join(entry, name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		st, err := os.Stat(path)
		if err != nil || st.IsDir() {
			continue
		}
		if st.Mode()&0o111 != 0 {
			return path, nil
		}
		found = syscall.EACCES
	}
	return "", startError(name, found, "")
}

func getenv(env []string, key, otherwise string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], key+"="); ok {
			return value
		}
	}
	return otherwise
}
