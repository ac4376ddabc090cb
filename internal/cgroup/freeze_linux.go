package cgroup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
)

// stillness is how long freezing may take: a process that waits for a disk or
// a network filesystem cannot be frozen before that answers.
const stillness = 10 * time.Second

// patience is how long a box may take to stand still before it is let go on
// for a moment and tried again. On older kernels a process that waits in vfork
// for its child cannot be frozen, and the child, if it was frozen first, does
// not wake it.
const patience = 100 * time.Millisecond

// Freeze has everything in the box but its first process stand still, and
// returns when it does. When it fails nothing is frozen. It can be repeated.
func (g *Group) Freeze(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stillness)
	defer cancel()
	k, x := g.host.kernel, g.execs()
	for {
		if err := k.freeze(x, true); err != nil {
			return forkbox.Wrap("freeze the box", err)
		}
		err := g.stands(ctx, patience)
		if err == nil {
			return nil
		}
		if thaw := k.freeze(x, false); ctx.Err() != nil || thaw != nil || !errors.Is(err, context.DeadlineExceeded) {
			return forkbox.Errorf(forkbox.Busy, "freeze the box", "its processes did not stand still: %w", errors.Join(err, thaw)).
				Hint("one of them may wait for a disk or network filesystem; try again, or stop the box first")
		}
		time.Sleep(time.Millisecond)
	}
}

// stands returns when all stand still.
func (g *Group) stands(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return retry(ctx, func() (bool, error) {
		frozen, err := g.host.kernel.frozen(g.execs())
		return frozen || err != nil, err
	})
}

// Thaw lets them go on. It can be repeated.
func (g *Group) Thaw(context.Context) error {
	return forkbox.Wrap("let the box go on", g.host.kernel.freeze(g.execs(), false))
}

// Frozen says whether they stand still.
func (g *Group) Frozen() (bool, error) {
	frozen, err := g.host.kernel.frozen(g.execs())
	return frozen, forkbox.Wrap("see whether the box is frozen", err)
}

// mercy is how long killing may take: who waits for a disk dies after that.
const mercy = 10 * time.Second

// Kill kills everything in the box but its first process, and returns when it
// is gone.
func (g *Group) Kill() error { return g.host.killAll(g, g.execs()) }

// Kill kills everything in it, and returns when it is gone, also if it makes
// processes as fast as it can.
func (s *Sub) Kill() error { return s.group.host.killAll(s.group, s.own) }

// Signal sends a signal to every process in it.
func (s *Sub) Signal(sig unix.Signal) error {
	return forkbox.Wrap("signal the exec", signalAll(s.Pids, sig))
}

func (h *Host) killAll(g *Group, n node) error {
	ctx, cancel := context.WithTimeout(context.Background(), mercy)
	defer cancel()
	var left []int
	err := retry(ctx, func() (bool, error) {
		all, err := h.members(n)
		if left = alive(all); err != nil || len(left) == 0 {
			return true, err
		}
		return false, h.kernel.kill(g, n)
	})
	if len(left) > 0 {
		return forkbox.Errorf(forkbox.Busy, "kill what runs", "%d processes do not end: %w", len(left), err).
			Hint("they may wait for a disk or network filesystem")
	}
	return forkbox.Wrap("kill what runs", err)
}

// kill: since Linux 5.14 the kernel does it, but it passes over a process whose
// first thread has ended while others go on.
func (v v2) kill(g *Group, n node) error {
	err := write(filepath.Join(n.main(), "cgroup.kill"), "1")
	if errors.Is(err, os.ErrNotExist) {
		return v.killFrozen(g, n)
	}
	left, listErr := g.host.members(n)
	if slices.ContainsFunc(left, func(pid int) bool { return state(pid) == 'Z' }) {
		err = errors.Join(err, v.killFrozen(g, n))
	}
	return errors.Join(err, listErr)
}

// killFrozen: a frozen process has no children meanwhile, and can be killed.
func (v v2) killFrozen(g *Group, n node) error {
	file := filepath.Join(n.main(), "cgroup.freeze")
	was, err := read(file)
	return errors.Join(err, v.freeze(n, true),
		signalAll(func() ([]int, error) { return g.host.members(n) }, unix.SIGKILL),
		write(file, strings.TrimSpace(was)))
}

// kill: a frozen process has no children meanwhile; but in version 1 no process
// dies before they are let go on.
func (v v1) kill(g *Group, n node) error {
	dir := n.dir(freezer)
	if dir == "" {
		return v.killUnfrozen(g, n)
	}
	was := readNumber(dir, "freezer.self_freezing") == 1
	err := v.freeze(n, true)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = retry(ctx, func() (bool, error) { return v.frozen(n) })
	err = errors.Join(err, signalAll(func() ([]int, error) { return g.host.members(n) }, unix.SIGKILL))
	if was || readNumber(dir, "freezer.parent_freezing") == 1 {
		err = errors.Join(err, v.release(g, n))
	}
	if !was {
		err = errors.Join(err, v.freeze(n, false))
	}
	return err
}

// release moves those that were killed to where nothing is frozen, to die
// there, because their box is paused and has to stay so. No process is moved
// whose death is not certain.
func (v1) release(g *Group, n node) error {
	list, err := g.host.members(n)
	errs := []error{err}
	for _, pid := range list {
		if !doomed(pid) {
			continue
		}
		err := write(filepath.Join(g.box.dir(freezer), "cgroup.procs"), itoa(pid))
		if !isGone(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// doomed says whether SIGKILL waits for a process.
func doomed(pid int) bool {
	text, _ := read("/proc/" + itoa(pid) + "/status")
	for line := range strings.Lines(text) {
		// SigPnd is of the thread, ShdPnd of the whole process: a mask in hex.
		name, hex, _ := strings.Cut(line, ":")
		mask, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
		if (name == "SigPnd" || name == "ShdPnd") && err == nil && mask&(1<<(unix.SIGKILL-1)) != 0 {
			return true
		}
	}
	return false
}

// killUnfrozen does it where there is no freezer: no process can have children
// while none are allowed.
func (v1) killUnfrozen(g *Group, n node) error {
	var e edit
	err := e.setIfThere(n.dir(pids), "pids.max", "0")
	err = errors.Join(err, signalAll(func() ([]int, error) { return g.host.members(n) }, unix.SIGKILL))
	return errors.Join(err, e.takeBack())
}
