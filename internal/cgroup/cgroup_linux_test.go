package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

var names atomic.Int64

func freshName() string { return fmt.Sprintf("fbtest-%d-%d", os.Getpid(), names.Add(1)) }

// openHost is a Host of its own for a test, of which nothing may be left.
func openHost(t *testing.T) *Host {
	t.Helper()
	h, err := Open(freshName())
	if forkbox.CodeOf(err) == forkbox.Unsupported && os.Geteuid() != 0 {
		t.Skip("this user has no cgroup to make others in:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return closing(t, h)
}

func closing(t *testing.T, h *Host) *Host {
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		for _, tree := range h.trees {
			if exists(tree.base, "cgroup.procs") {
				t.Errorf("%s is left", tree.base)
			}
		}
	})
	return h
}

// bare is version 2 without a controller, as hosts with version 1 have it: it
// freezes and kills, and limits nothing.
func bare(t *testing.T) *Host {
	t.Helper()
	text, err := read("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range parseMounts(text) {
		if m.kind == "cgroup2" && len(controllersOf(m)) == 0 && os.Geteuid() == 0 {
			h := &Host{name: freshName(), kernel: v2{}, files: map[string]bool{}, known: map[string]bool{}, inner: map[string]bool{}}
			h.trees = []tree{{controllers: []controller{cpuacct, freezer}, base: filepath.Join(m.point, h.name), mount: m}}
			return closing(t, h)
		}
	}
	t.Skip("no mounted cgroup version 2 without controllers that is ours")
	return nil
}

// onEach runs a test on what the host has, and on the other version's core if
// that is there as well.
func onEach(t *testing.T, test func(t *testing.T, h *Host)) {
	t.Run("opened", func(t *testing.T) { test(t, openHost(t)) })
	t.Run("bare", func(t *testing.T) { test(t, bare(t)) })
}

// newBox is a box's group that goes with the test, and its processes with it.
func newBox(t *testing.T, h *Host, l forkbox.Limits) *Group {
	t.Helper()
	g, err := h.New("box" + fmt.Sprint(names.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { finish(t, g) })
	if err := g.Set(l); err != nil {
		t.Fatal(err)
	}
	return g
}

func finish(t *testing.T, g *Group) {
	if err := g.Thaw(context.Background()); err != nil && forkbox.CodeOf(err) != forkbox.Unsupported && !isGone(err) {
		t.Error(err)
	}
	if err := signalAll(g.Pids, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	err := errors.Join(g.Kill(), g.Remove(context.Background()))
	for range 30 { // on a slow machine processes take longer to end than Remove waits
		if forkbox.CodeOf(err) != forkbox.Busy {
			break
		}
		err = g.Remove(context.Background())
	}
	if err != nil {
		t.Error(err)
	}
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}

func newExec(t *testing.T, g *Group, l forkbox.Limits) *Sub {
	t.Helper()
	s, err := g.Exec(fmt.Sprint(names.Add(1)), l)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func needs(t *testing.T, h *Host, rs ...forkbox.Resource) {
	t.Helper()
	for _, r := range rs {
		if holding := h.Holds()[r]; holding.How != forkbox.Enforced {
			t.Skipf("%s is not enforced on this host: %s", r, holding.Why)
		}
	}
}

func eventsOf(t *testing.T, s *Sub) Events {
	t.Helper()
	e, err := s.Events()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func statsOf(t *testing.T, g *Group) forkbox.Stats {
	t.Helper()
	s, err := g.Stats()
	if err != nil {
		t.Fatal(err)
	}
	u, err := g.Used() // a part of it, a moment later
	if err != nil || u.CPU < s.CPU || u.MemoryPeak < s.MemoryPeak {
		t.Errorf("it uses %+v, and alone %+v, %v", s, u, err)
	}
	return s
}

func wantCode(t *testing.T, err error, code forkbox.Code) {
	t.Helper()
	if err == nil || forkbox.CodeOf(err) != code {
		t.Errorf("got %v, want an error with the code %s", err, code)
	}
}

func TestHolds(t *testing.T) {
	h := openHost(t)
	holds := h.Holds()
	if len(holds) != len(resources) {
		t.Errorf("%d resources, want %d", len(holds), len(resources))
	}
	for r, holding := range holds {
		if holding.How != forkbox.Enforced && holding.Why == "" {
			t.Errorf("%s is %s, and it does not say why", r, holding.How)
		}
		t.Logf("%s: %+v", r, holding)
	}
	if h.Version() == 1 && holds[forkbox.WriteBytes].How == forkbox.Enforced {
		t.Error("version 1 does not hold writes")
	}
	h.SetIOPaths([]string{"/proc"})
	if holding := h.Holds()[forkbox.ReadBytes]; holding.How == forkbox.Enforced || holding.Why == "" {
		t.Errorf("/proc has no disk: %+v", holding)
	}
	t.Log(h.Version(), h.Place())
}

func TestOpenMakesNothing(t *testing.T) {
	h := openHost(t)
	for _, tree := range h.trees {
		names, err := children(filepath.Dir(tree.base))
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, h.name) && !strings.HasSuffix(n, "-daemon") }); i >= 0 {
			t.Errorf("%s is there", names[i])
		}
	}
}

func TestNames(t *testing.T) {
	for _, bad := range []string{"", ".", "..", "a/b", "a b", "tasks", "cgroup.procs", "a\nb", "\xff", strings.Repeat("a", 200)} {
		if _, err := Open(bad); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("a daemon called %q: %v", bad, err)
		}
	}
	h := openHost(t)
	_, err := h.New("../x")
	wantCode(t, err, forkbox.Invalid)
	g := newBox(t, h, nil)
	_, err = h.New(g.ID())
	wantCode(t, err, forkbox.Exists)
	_, err = g.Exec("a/b", nil)
	wantCode(t, err, forkbox.Invalid)
	s := newExec(t, g, nil)
	_, err = g.Exec(s.id, nil)
	wantCode(t, err, forkbox.Exists)
	_, err = g.FindExec("none")
	wantCode(t, err, forkbox.NotFound)
	wantCode(t, g.Set(forkbox.Limits{forkbox.Memory: 1}), forkbox.Invalid)
	_, err = g.Exec("lim", forkbox.Limits{forkbox.Pids: 0})
	wantCode(t, err, forkbox.Invalid)
	if slices.Contains(g.Execs(), "lim") {
		t.Error("an exec with senseless limits has a group")
	}
}

func TestNotHeld(t *testing.T) {
	holds := NotHeld(unusable(errors.New("no luck")))
	for _, r := range resources {
		if h := holds[r]; h.How != forkbox.NotEnforced || h.Why != "no luck" || h.Hint == "" {
			t.Errorf("%s: %+v", r, h)
		}
	}
}

// TestRestart: another daemon of the same name finds what the first one made.
func TestRestart(t *testing.T) {
	onEach(t, func(t *testing.T, h *Host) {
		g := newBox(t, h, nil)
		init := start(t, g.Init, "sleep")
		init.hears(t)
		s := newExec(t, g, nil)
		worker := start(t, s.Entry, "sleep")
		worker.hears(t)

		h2 := &Host{name: h.name, kernel: h.kernel, trees: h.trees, files: h.files, known: map[string]bool{}, inner: map[string]bool{}}
		if err := h2.Sweep(); err != nil {
			t.Fatal(err)
		}
		g2, err := h2.Find(init.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if g2.ID() != g.ID() || len(g2.box.trees) != len(g.box.trees) {
			t.Errorf("found %s in %d trees, want %s in %d", g2.ID(), len(g2.box.trees), g.ID(), len(g.box.trees))
		}
		if got := g2.Execs(); !slices.Equal(got, []string{s.id}) {
			t.Errorf("execs %q", got)
		}
		s2, err := g2.FindExec(s.id)
		if err != nil {
			t.Fatal(err)
		}
		if in, err := s2.Pids(); err != nil || !slices.Equal(in, []int{worker.Process.Pid}) {
			t.Errorf("in it are %v (%v), want %d", in, err, worker.Process.Pid)
		}
		if in, err := g2.Pids(); err != nil || len(in) != 2 {
			t.Errorf("in the box are %v, %v", in, err)
		}
		if got, want := g2.within(pids), g.within(pids); !slices.Equal(got, want) || len(got) < 2 {
			t.Errorf("its groups are %q, want %q", got, want)
		}
		if g.Idle() || g2.Idle() {
			t.Error("with an exec that runs it is idle")
		}
		worker.Process.Kill()
		worker.Wait()
		if counts := g.box.dir(pids) != ""; g.Idle() != counts || g2.Idle() != counts {
			t.Error("with its first process alone it is not idle")
		}
		if err := s2.Remove(); err != nil || len(g2.within(pids)) != len(g.within(pids))-1 {
			t.Errorf("%v, and its groups are %q", err, g2.within(pids))
		}
		_, err = h2.Find(os.Getpid())
		wantCode(t, err, forkbox.NotFound)
		_, err = h2.Find(1 << 22)
		wantCode(t, err, forkbox.NotFound)
	})
}

// TestSweep removes what has no process, wherever it was made, and nothing else.
func TestSweep(t *testing.T) {
	onEach(t, func(t *testing.T, h *Host) {
		live, dead := newBox(t, h, nil), newBox(t, h, nil)
		start(t, live.Init, "sleep").hears(t)
		newExec(t, live, nil)
		newExec(t, dead, nil)
		moved := node{trees: h.trees, rel: dead.id + "/" + h.name}.child("old")
		if err := errors.Join(node{trees: h.trees, rel: filepath.Dir(moved.rel)}.make(), moved.make()); err != nil {
			t.Fatal(err)
		}
		again := &Host{name: h.name, kernel: h.kernel, trees: h.trees, files: h.files, known: map[string]bool{}, inner: map[string]bool{}}
		if err := again.Sweep(); err != nil {
			t.Fatal(err)
		}
		if len(live.Execs()) != 1 || exists(dead.box.main(), "cgroup.procs") {
			t.Errorf("execs left of the live: %q; the dead is there: %t", live.Execs(), exists(dead.box.main(), "cgroup.procs"))
		}
		fresh := newBox(t, h, nil)
		if err := h.Sweep(); err != nil || !exists(fresh.box.main(), "cgroup.procs") {
			t.Errorf("a box without a process yet was swept: %v", err)
		}
	})
}

func TestRemove(t *testing.T) {
	onEach(t, func(t *testing.T, h *Host) {
		g := newBox(t, h, nil)
		s := newExec(t, g, nil)
		worker := start(t, s.Entry, "sleep")
		worker.hears(t)
		wantCode(t, s.Remove(), forkbox.Busy)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		idle := newExec(t, g, nil)
		wantCode(t, g.Remove(ctx), forkbox.Busy)
		if !slices.Contains(g.Execs(), idle.id) {
			t.Error("a part of it is gone")
		}
		if in, err := s.Pids(); err != nil || len(in) != 1 {
			t.Fatalf("trying to remove it did something: %v %v", in, err)
		}
		if err := errors.Join(s.Kill(), s.Remove(), s.Remove()); err != nil {
			t.Fatal(err)
		}
		_, err := s.Events()
		wantCode(t, err, forkbox.NotFound)
		if err := errors.Join(g.Remove(t.Context()), g.Remove(t.Context())); err != nil {
			t.Fatal(err)
		}
		_, err = g.Stats()
		wantCode(t, err, forkbox.NotFound)
		_, err = g.Used()
		wantCode(t, err, forkbox.NotFound)
	})
}
