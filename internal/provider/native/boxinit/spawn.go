//go:build linux

package boxinit

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/wire"
)

// spawnArgs is what the process of an exec begins with.
type spawnArgs struct {
	path  string
	dir   string
	env   []string
	files map[int]*os.File // by their number in the process
	ctty  bool             // stdin is its terminal
	who   *syscall.Credential
	ends  []*os.File // the child's ends; ours to close once it has them
	umask *int
	enter []*os.File // writing to them enters its cgroup
	stamp uint64
}

func (s *spawnArgs) closeChildEnds() { wire.CloseAll(s.ends...) }

// spawnLimit is how long a process may take from its fork to its exec. A
// program on a filesystem that hangs fails one exec.
const spawnLimit = 30 * time.Second

// spawn starts the process of an exec. It enters its cgroup and takes its
// limits on itself before it executes the command, so that nothing it starts can
// be outside.
func (p *pid1) spawn(c *child, args *ExecArgs, s *spawnArgs) error {
	if slices.ContainsFunc(slices.Concat(args.Argv, s.env, []string{s.path, s.dir}), hasNUL) {
		return forkbox.Errorf(forkbox.Invalid, "run a command", "an argument or variable has a zero byte")
	}
	born, err := p.fork(c, args, s)
	wire.CloseAll(s.enter...) // it has its own; what runs in the box need not see ours
	if err != nil {
		return err
	}
	// Without the lock: a program on a filesystem that hangs must not keep init
	// from answering.
	_, err = born.Wait(spawnLimit)
	p.score.begun()
	if err != nil {
		_ = syscall.Kill(born.PID, syscall.SIGKILL) // where it hangs; else it is gone
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.execs, c.id)
		delete(p.byPID, born.PID)
		return startFailed(args, err)
	}
	return nil
}

// fork takes the lock, so that a child that ends at once is already known.
func (p *pid1) fork(c *child, args *ExecArgs, s *spawnArgs) (*linux.Child, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.execs[c.id] != nil {
		return nil, forkbox.Errorf(forkbox.Exists, "run a command", "exec %s runs already", c.id)
	}
	p.stamps++
	s.stamp, c.stamp = p.stamps, p.stamps
	p.score.begins()
	born, err := s.script(args, p.config).Fork(0)
	if err != nil {
		p.score.begun()
		return nil, startError(args.Argv[0], err, args.Dir)
	}
	unix.Close(born.PIDFD)
	select {
	case p.spawned <- struct{}{}:
	default:
	}
	c.pid = born.PID
	p.execs[c.id], p.byPID[born.PID] = c, c
	return born, nil
}

func hasNUL(text string) bool { return strings.IndexByte(text, 0) >= 0 }

// startFailed blames the program, the directory, or the host.
func startFailed(args *ExecArgs, err error) error {
	var step *linux.StepError
	if !errors.As(err, &step) {
		return startError(args.Argv[0], err, args.Dir)
	}
	if step.What == linux.StepShell {
		return startError(args.Argv[0], syscall.ENOEXEC, args.Dir)
	}
	if step.What == linux.StepExec || step.What == linux.StepChdir {
		return startError(args.Argv[0], step.Errno, args.Dir)
	}
	return forkbox.Errorf(forkbox.Internal, "run "+args.Argv[0], "%w", step)
}

// script is the process between its fork and its program.
func (s *spawnArgs) script(args *ExecArgs, config Config) *linux.Script {
	b := linux.NewScript()
	for _, f := range s.enter {
		b.Enter(int(f.Fd()))
	}
	b.Session()
	b.Expendable(expendable)
	b.Stamp(s.stamp)
	if s.who != nil {
		b.Become(s.who.Uid, s.who.Gid, s.who.Groups)
	}
	b.Chdir(s.dir)
	if s.umask != nil {
		b.Umask(*s.umask & 0o777)
	}
	fds := map[int]int{}
	for number, f := range s.files {
		fds[number] = int(f.Fd())
	}
	b.Place(fds, forkbox.MaxFD+1)
	b.OpenFiles(fileLimit(args, config))
	inherit(b, args.Traits)
	if s.ctty {
		b.Terminal()
	}
	b.Run(s.path, args.Argv, s.env)
	return b
}

// expendable is how much sooner than init an exec is killed where memory runs
// out. What lies in a tmpfs belongs to no process: without this the largest
// could be init, and with it the whole box would go.
const expendable = "500"

// fileLimit is the limit on open files: what the caller has or, where the exec
// has one of its own, that and no more.
func fileLimit(args *ExecArgs, config Config) unix.Rlimit {
	limit := unix.Rlimit{Cur: config.Files, Max: config.MaxFiles}
	if t := args.Traits; t != nil && len(t.Limits) > unix.RLIMIT_NOFILE {
		own := t.Limits[unix.RLIMIT_NOFILE]
		limit = unix.Rlimit{Cur: min(own[0], limit.Max), Max: min(own[1], limit.Max)}
	}
	if n, has := args.Limits[forkbox.Files]; has && n != forkbox.Unlimited {
		n := min(uint64(n), config.MaxFiles)
		return unix.Rlimit{Cur: n, Max: n}
	}
	return limit
}
