package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

const megabyte = 1 << 20

// diedOf waits for a process that is to be killed.
func diedOf(t *testing.T, a *actor, want unix.Signal) {
	t.Helper()
	_ = a.Wait()
	status, ok := a.ProcessState.Sys().(interface{ Signal() unix.Signal })
	if !ok || status.Signal() != want {
		t.Errorf("it ended with %v, want %v", a.ProcessState, want)
	}
}

// TestMemory: a process that needs more than the box may have is killed, is
// known by its exec's group, and the others go on.
func TestMemory(t *testing.T) {
	h := openHost(t)
	needs(t, h, forkbox.Memory, forkbox.Swap)
	g := newBox(t, h, forkbox.Limits{forkbox.Memory: 48 * megabyte, forkbox.Swap: 0})
	init := start(t, g.Init, "sleep")
	init.hears(t)
	good, bad := newExec(t, g, nil), newExec(t, g, nil)
	neighbour := start(t, good.Entry, "sleep")
	neighbour.hears(t)
	diedOf(t, start(t, bad.Entry, "eat 512"), unix.SIGKILL)

	e := eventsOf(t, bad)
	if e.OOMKills < 1 {
		t.Errorf("its group does not know that it was killed: %+v", e)
	}
	if counts := exists(bad.own.dir(memory), "memory.peak") || h.Version() == 1; counts && (e.Peak < 16*megabyte || e.Peak > 48*megabyte) {
		t.Errorf("peak %d", e.Peak)
	}
	if e := eventsOf(t, good); e.OOMKills != 0 {
		t.Errorf("the neighbour is said to be killed: %+v", e)
	}
	if s := statsOf(t, g); s.OOMKills < 1 || s.Memory <= 0 || s.Time.IsZero() {
		t.Errorf("stats %+v", s)
	}
	if err := bad.Remove(); err != nil {
		t.Fatal(err)
	}
	if s := statsOf(t, g); s.OOMKills < 1 {
		t.Errorf("with the exec's group its death is forgotten: %+v", s)
	}
	if in, err := g.Pids(); err != nil || len(in) != 2 {
		t.Errorf("left are %v %v", in, err)
	}
}

func TestMemoryOfExec(t *testing.T) {
	h := openHost(t)
	needs(t, h, forkbox.Memory, forkbox.Swap)
	g := newBox(t, h, nil)
	s := newExec(t, g, forkbox.Limits{forkbox.Memory: 32 * megabyte, forkbox.Swap: 0})
	diedOf(t, start(t, s.Entry, "eat 512"), unix.SIGKILL)
	if e := eventsOf(t, s); e.OOMKills < 1 {
		t.Errorf("%+v", e)
	}
	if a := start(t, newExec(t, g, nil).Entry, "eat 64"); a.hears(t) != "ate" {
		t.Error("an exec without a limit has one")
	}
}

// TestPageCache counts as memory, and is given back rather than killed for.
func TestPageCache(t *testing.T) {
	h := openHost(t)
	needs(t, h, forkbox.Memory)
	g := newBox(t, h, forkbox.Limits{forkbox.Memory: 40 * megabyte})
	s := newExec(t, g, nil)
	if a := start(t, s.Entry, "eatCache 100", "TMPDIR="+diskDir(t)); a.hears(t) != "ate" {
		t.Error("it did not write")
	}
	if m := statsOf(t, g).Memory; m > 40*megabyte {
		t.Errorf("%d bytes are used", m)
	}
}

// diskDir is a directory that is not in memory.
func diskDir(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{os.TempDir(), "/var/tmp", "."} {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil && st.Type != unix.TMPFS_MAGIC && st.Type != unix.RAMFS_MAGIC && writable(dir) == nil {
			return dir
		}
	}
	t.Skip("all directories for temporary files are in memory")
	return ""
}

// TestReserve: all boxes together.
func TestReserve(t *testing.T) {
	h := openHost(t)
	needs(t, h, forkbox.Memory, forkbox.Swap)
	l := forkbox.Limits{forkbox.Memory: 48 * megabyte, forkbox.Swap: 0, forkbox.Pids: 200, forkbox.CPUs: 1000}
	if err := h.Reserve(l); err != nil {
		t.Fatal(err)
	}
	g := newBox(t, h, forkbox.Limits{forkbox.CPUs: 2000}) // more than there is for all
	s := newExec(t, g, nil)
	diedOf(t, start(t, s.Entry, "eat 512"), unix.SIGKILL)
	if e := eventsOf(t, s); e.OOMKills < 1 {
		t.Errorf("%+v", e)
	}
	l[forkbox.CPUs] = 500 // below a box's
	if err := h.Reserve(l); err != nil {
		t.Fatal(err)
	}
}

func TestPids(t *testing.T) {
	h := openHost(t)
	needs(t, h, forkbox.Pids)
	g := newBox(t, h, forkbox.Limits{forkbox.Pids: 60})
	innocent := newExec(t, g, nil)
	if err := innocent.Remove(); err != nil {
		t.Fatal(err)
	}
	s := newExec(t, g, nil)
	if said := start(t, s.Entry, "spawn 500").hears(t); !strings.HasSuffix(said, " EAGAIN") {
		t.Errorf("it had children: %s", said)
	}
	if e := eventsOf(t, s); e.PidsHits < 1 {
		t.Errorf("%+v", e)
	}
	if st := statsOf(t, g); st.PidsHits < 1 || st.Pids < 40 || st.Pids > 60 {
		t.Errorf("%+v", st)
	}
	later := newExec(t, g, nil)
	if e := eventsOf(t, later); e.PidsHits != 0 {
		t.Errorf("an exec is blamed for what was before it: %+v", e)
	}
	if err := errors.Join(s.Kill(), s.Remove()); err != nil {
		t.Fatal(err)
	}
	if st := statsOf(t, g); st.PidsHits < 1 {
		t.Error("with the exec's group its hits are forgotten")
	}
}

func TestPidsOfExec(t *testing.T) {
	h := openHost(t)
	needs(t, h, forkbox.Pids)
	g := newBox(t, h, nil)
	s, other := newExec(t, g, forkbox.Limits{forkbox.Pids: 40}), newExec(t, g, nil)
	if said := start(t, s.Entry, "spawn 100").hears(t); !strings.HasSuffix(said, " EAGAIN") {
		t.Errorf("it had children: %s", said)
	}
	if said := start(t, other.Entry, "spawn 100").hears(t); said != "100" {
		t.Errorf("the other could not: %s", said)
	}
	if mine, others := eventsOf(t, s), eventsOf(t, other); mine.PidsHits < 1 || others.PidsHits != 0 {
		t.Errorf("%+v, %+v", mine, others)
	}
}

func TestCPU(t *testing.T) {
	h := openHost(t)
	needs(t, h, forkbox.CPUs)
	t.Run("box", func(t *testing.T) {
		g := newBox(t, h, forkbox.Limits{forkbox.CPUs: 50})
		start(t, newExec(t, g, nil).Entry, "spin")
		throttled(t, g)
	})
	t.Run("exec", func(t *testing.T) {
		g := newBox(t, h, nil)
		start(t, newExec(t, g, forkbox.Limits{forkbox.CPUs: 50}).Entry, "spin")
		throttled(t, g)
		if err := g.Set(forkbox.Limits{forkbox.CPUs: 20}); err != nil {
			t.Error("the box gets less than its exec:", err)
		}
		start(t, newExec(t, g, forkbox.Limits{forkbox.CPUs: 500}).Entry, "sleep").hears(t)
	})
}

func throttled(t *testing.T, g *Group) {
	t.Helper()
	eventually(t, "it is slowed", func() bool {
		s := statsOf(t, g)
		return s.Throttled > 0 && s.CPU > 0
	})
}

// TestSetWhileRunning: a limit below what is in use kills no process.
func TestSetWhileRunning(t *testing.T) {
	h := openHost(t)
	needs(t, h, forkbox.Memory, forkbox.Swap)
	before := forkbox.Limits{forkbox.Memory: 128 * megabyte, forkbox.Swap: 0, forkbox.Pids: 100}
	g := newBox(t, h, before)
	s := newExec(t, g, nil)
	a := start(t, s.Entry, "eat 64")
	a.hears(t)
	was := settings(g)
	err := g.Set(forkbox.Limits{forkbox.Memory: 16 * megabyte, forkbox.Swap: 0, forkbox.Pids: 50})
	wantCode(t, err, forkbox.Busy)
	if err != nil && !strings.Contains(err.Error(), "16m") {
		t.Errorf("%v", err)
	}
	if now := settings(g); now != was {
		t.Errorf("what was refused changed something:\n%s\nwas\n%s", now, was)
	}
	if in, err := s.Pids(); err != nil || len(in) != 1 {
		t.Fatalf("it was killed: %v %v", in, err)
	}
	for _, l := range []forkbox.Limits{
		{forkbox.Memory: 256 * megabyte, forkbox.Swap: 0},
		{forkbox.Memory: 100 * megabyte, forkbox.Swap: 16 * megabyte},
		{forkbox.Memory: 200 * megabyte},
		{forkbox.Memory: forkbox.Unlimited, forkbox.CPUs: forkbox.Unlimited},
		before, nil,
	} {
		if err := g.Set(l); err != nil {
			t.Errorf("%v: %v", l, err)
		}
	}
	fresh := newBox(t, h, nil)
	if now, want := settings(g), settings(fresh); now != want {
		t.Errorf("lifted limits left\n%s\nwant\n%s", now, want)
	}
}

// settings are the limits that the kernel has for a box.
func settings(g *Group) string {
	var all strings.Builder
	for _, r := range resources {
		file, c := g.host.kernel.knob(r)
		all.WriteString(file + ": " + readIn(g.box.dir(c), file) + "\n")
	}
	all.WriteString(readIn(g.box.dir(memory), "memory.high"))
	return all.String()
}

func TestReclaimed(t *testing.T) {
	h := openHost(t)
	needs(t, h, forkbox.Memory)
	g := newBox(t, h, nil)
	s := newExec(t, g, nil)
	start(t, s.Entry, "eatCache 64", "TMPDIR="+diskDir(t)).hears(t)
	if err := g.Set(forkbox.Limits{forkbox.Memory: 32 * megabyte}); err != nil {
		t.Errorf("what is only cached was not given back: %v", err)
	}
	if in, err := s.Pids(); err != nil || len(in) != 1 {
		t.Errorf("it was killed: %v %v", in, err)
	}
}

func TestIO(t *testing.T) {
	h := openHost(t)
	h.SetIOPaths([]string{diskDir(t)})
	needs(t, h, forkbox.ReadBytes, forkbox.ReadOps)
	g := newBox(t, h, forkbox.Limits{forkbox.ReadBytes: 1234567})
	if all := settings(g); strings.Count(all, "1234567") == 0 {
		t.Errorf("it is not set:\n%s", all)
	}
	s := newExec(t, g, forkbox.Limits{forkbox.ReadOps: 321, forkbox.WriteBytes: 7654321})
	start(t, s.Entry, "eatCache 4", "TMPDIR="+diskDir(t)).hears(t)
	eventually(t, "what was written is counted", func() bool { io := statsOf(t, g).IO; return io.WriteBytes > 0 && io.WriteOps > 0 })
	file, _ := h.kernel.knob(forkbox.ReadOps)
	if text := readIn(s.own.dir(disk), file); !strings.Contains(text, "321") {
		t.Errorf("the exec's is not set: %s", text)
	}
	if err := g.Set(nil); err != nil || strings.Contains(settings(g), "1234567") {
		t.Errorf("it was not lifted: %v\n%s", err, settings(g))
	}
}

// TestAllOrNothing: what was set before something is refused is put back.
func TestAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	if err := os.WriteFile(file, []byte("5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var e edit
	err := errors.Join(e.set(file, "6"), e.set(file, "7"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := read(file); err != nil || text != "7\n" {
		t.Fatalf("%q %v", text, err)
	}
	if err := e.takeBack(); err != nil {
		t.Fatal(err)
	}
	if text, err := read(file); err != nil || text != "5\n" {
		t.Errorf("%q %v", text, err)
	}
}
