//go:build linux

package native

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
)

// child is an exec that runs.
type child struct {
	id       string
	pid      int
	rootless bool
	log      *execlog.Writer
	tty      *os.File // the master side, with a terminal
	out      []*relay
	status   chan syscall.WaitStatus
	end      chan struct{} // closed when it has ended

	mu    sync.Mutex
	cause forkbox.Cause // why we ended it, if we did
}

// umask belongs to the process, so execs with one of their own take turns.
var umask sync.Mutex

// start runs a command. The exit, also of one that could not be started, is
// written to the log by whoever knows it.
func (p *pid1) start(id string, args *execArgs, files []*os.File) error {
	if args == nil {
		return forkbox.Errorf(forkbox.Invalid, "run a command", "nothing to run")
	}
	stdio, log := unpack(args, files)
	c := &child{id: id, rootless: p.config.Rootless, status: make(chan syscall.WaitStatus, 1), end: make(chan struct{})}
	c.log = execlog.NewWriter(log, args.LogCap)
	spawn, err := c.prepare(args, stdio)
	if err == nil {
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
		closeAll(c.tty, log)
		return err
	}
	for _, r := range c.out {
		go r.run()
	}
	go p.watch(c, args.Timeout, log)
	return nil
}

// unpack sorts the files that came with a request.
func unpack(args *execArgs, files []*os.File) (stdio forkbox.Stdio, log *os.File) {
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
	closeAll(files...)
	return stdio, log
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// spawnArgs is what fork and exec need.
type spawnArgs struct {
	path  string
	attr  syscall.ProcAttr
	ends  []*os.File // the child's ends; ours to close once it has them
	umask *int
}

func (s *spawnArgs) closeChildEnds() { closeAll(s.ends...) }

func (p *pid1) spawn(c *child, args *execArgs, s *spawnArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.execs[c.id] != nil {
		return forkbox.Errorf(forkbox.Exists, "run a command", "exec %s runs already", c.id)
	}
	if s.umask != nil {
		umask.Lock()
		defer umask.Unlock()
		defer syscall.Umask(syscall.Umask(*s.umask & 0o777))
	}
	pid, err := syscall.ForkExec(s.path, args.Argv, &s.attr)
	if err != nil {
		return startError(args.Argv[0], err, args.Dir)
	}
	select {
	case p.spawned <- struct{}{}:
	default:
	}
	c.pid = pid
	p.execs[c.id], p.byPID[pid] = c, c
	return nil
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
	for _, r := range c.out {
		r.drain(c.killed())
	}
	exit := c.exit(status)
	_ = c.log.End(exit)
	p.finish(c, exited{ID: c.id, Exit: exit, Output: c.log.Output()})
	for _, r := range c.out {
		r.wait() // processes it left behind may still write
	}
	closeAll(c.tty, log)
}

func (c *child) killed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause != ""
}

// exit turns a wait status into what a shell would report.
func (c *child) exit(status syscall.WaitStatus) forkbox.Exit {
	c.mu.Lock()
	cause := c.cause
	c.mu.Unlock()
	e := forkbox.Exit{Code: status.ExitStatus(), Cause: forkbox.CauseExited}
	if status.Signaled() {
		e = forkbox.Exit{Code: 128 + int(status.Signal()), Cause: forkbox.CauseSignalled, Signal: unix.SignalName(status.Signal())}
	}
	if cause != "" {
		e.Cause = cause
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
