package cgroup

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

func grows(t *testing.T, size func() int64) {
	t.Helper()
	was := size()
	eventually(t, "it goes on", func() bool { return size() > was })
}

func standsStill(t *testing.T, size func() int64) {
	t.Helper()
	was := size()
	time.Sleep(50 * time.Millisecond)
	if now := size(); now != was {
		t.Errorf("it went on: %d, then %d", was, now)
	}
}

func TestFreezeAndThaw(t *testing.T) {
	onEach(t, func(t *testing.T, h *Host) {
		g := newBox(t, h, nil)
		outside, inside := ticking(t, g.Init), ticking(t, newExec(t, g, nil).Entry)
		start(t, newExec(t, g, nil).Entry, "churn 8").hears(t)
		for range 20 {
			if err := errors.Join(g.Freeze(t.Context()), g.Freeze(t.Context())); err != nil {
				t.Fatal(err)
			}
			if frozen, err := g.Frozen(); err != nil || !frozen {
				t.Fatalf("frozen: %t, %v", frozen, err)
			}
			if err := g.Thaw(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
		standsStill(t, inside)
		before, _ := g.Pids()
		grows(t, outside) // the first process answers meanwhile
		if after, _ := g.Pids(); !slices.Equal(before, after) {
			t.Errorf("processes come and go: %v, then %v", before, after)
		}
		if err := errors.Join(g.Thaw(t.Context()), g.Thaw(t.Context())); err != nil {
			t.Fatal(err)
		}
		grows(t, inside)
	})
}

func TestFreezeVfork(t *testing.T) {
	onEach(t, func(t *testing.T, h *Host) {
		g := newBox(t, h, nil)
		for range 3 {
			start(t, newExec(t, g, nil).Entry, "vfork").hears(t)
		}
		for range 50 {
			if err := errors.Join(g.Freeze(t.Context()), g.Thaw(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestFreezeGivenUp leaves nothing frozen.
func TestFreezeGivenUp(t *testing.T) {
	onEach(t, func(t *testing.T, h *Host) {
		g := newBox(t, h, nil)
		inside := ticking(t, newExec(t, g, nil).Entry)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if g.Freeze(ctx) == nil { // it was faster
			if err := g.Thaw(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		grows(t, inside)
	})
}

// TestKill: processes that ignore TERM, are in sessions of their own and are
// gone before it is looked at.
func TestKill(t *testing.T) {
	onEach(t, func(t *testing.T, h *Host) {
		g := newBox(t, h, nil)
		outside := ticking(t, g.Init)
		s, other := newExec(t, g, nil), newExec(t, g, nil)
		start(t, s.Entry, "churn 8").hears(t)
		start(t, s.Entry, "sleep").hears(t)
		neighbour := start(t, other.Entry, "sleep")
		neighbour.hears(t)
		if err := s.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		killed(t, s.Kill, s.Pids)
		if in, err := other.Pids(); err != nil || !slices.Equal(in, []int{neighbour.Process.Pid}) {
			t.Errorf("the neighbour: %v %v", in, err)
		}
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
		killed(t, g.Kill, other.Pids)
		grows(t, outside)
	})
}

func killed(t *testing.T, kill func() error, pids func() ([]int, error)) {
	t.Helper()
	if err := kill(); err != nil {
		t.Fatal(err)
	}
	if in, err := pids(); err != nil || len(alive(in)) != 0 {
		t.Fatalf("left: %v %v", in, err)
	}
}

// TestForkBomb: one that nothing but a limit stops is frozen, thawed and
// killed, while others can be started.
func TestForkBomb(t *testing.T) {
	h := openHost(t)
	needs(t, h, forkbox.Pids)
	g := newBox(t, h, forkbox.Limits{forkbox.Pids: 120})
	s := newExec(t, g, nil)
	start(t, s.Entry, "bomb").hears(t)
	eventually(t, "the limit is met", func() bool { return eventsOf(t, s).PidsHits > 0 })
	for range 3 {
		if err := errors.Join(g.Freeze(t.Context()), g.Thaw(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	killed(t, s.Kill, s.Pids)
}

// TestKillInPausedBox: what is killed dies, and the rest stays frozen.
func TestKillInPausedBox(t *testing.T) {
	onEach(t, func(t *testing.T, h *Host) {
		g := newBox(t, h, nil)
		s, other := newExec(t, g, nil), newExec(t, g, nil)
		start(t, s.Entry, "churn 5").hears(t)
		inside := ticking(t, other.Entry)
		if err := g.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
		killed(t, s.Kill, s.Pids)
		standsStill(t, inside)
		if frozen, err := g.Frozen(); err != nil || !frozen {
			t.Errorf("frozen: %t, %v", frozen, err)
		}
		killed(t, g.Kill, other.Pids)
		if err := g.Thaw(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSignal(t *testing.T) {
	onEach(t, func(t *testing.T, h *Host) {
		g := newBox(t, h, nil)
		s, other := newExec(t, g, nil), newExec(t, g, nil)
		a, b, c := start(t, s.Entry, "sleep"), start(t, s.Entry, "sleep"), start(t, other.Entry, "sleep")
		for _, x := range []*actor{a, b, c} {
			x.hears(t)
		}
		if err := s.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		diedOf(t, a, unix.SIGTERM)
		diedOf(t, b, unix.SIGTERM)
		if in, err := other.Pids(); err != nil || len(in) != 1 {
			t.Errorf("the other: %v %v", in, err)
		}
	})
}

// TestVisitor: in version 1 a thread of the daemon is in an exec's group for a
// moment. The daemon is not to be killed for that.
func TestVisitor(t *testing.T) {
	h := openHost(t)
	if h.Version() != 1 {
		t.Skip("in version 2 threads of a process are together")
	}
	s := newExec(t, newBox(t, h, nil), nil)
	entry, err := s.Entry()
	if err != nil {
		t.Fatal(err)
	}
	defer entry.Close()
	entered, leave := make(chan error), make(chan bool)
	go func() {
		runtime.LockOSThread()
		entered <- entry.Enter()
		<-leave
	}()
	if err := <-entered; err != nil {
		t.Fatal(err)
	}
	in, err := h.kernel.pids(s.own.main())
	if err != nil || len(in) != 0 {
		t.Errorf("visitors are taken for processes of the exec: %v %v", in, err)
	}
	if err := errors.Join(s.Signal(unix.SIGKILL), s.Kill()); err != nil {
		t.Error(err)
	}
	close(leave)
	if err := s.Remove(); err != nil {
		t.Error(err)
	}
}

// TestLeaderless: a process whose first thread has ended is one still.
func TestLeaderless(t *testing.T) {
	onEach(t, func(t *testing.T, h *Host) {
		s := newExec(t, newBox(t, h, nil), nil)
		a := start(t, s.Entry, "leaderless")
		a.hears(t)
		eventually(t, "its first thread has ended", func() bool { return state(a.Process.Pid) == 'Z' })
		if in, err := s.Pids(); err != nil || !slices.Equal(in, []int{a.Process.Pid}) {
			t.Errorf("%v %v", in, err)
		}
		killed(t, s.Kill, s.Pids)
		diedOf(t, a, unix.SIGKILL)
	})
}
