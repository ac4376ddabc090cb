//go:build linux

package native

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/providertest"
)

// ruled is a box with limits, where the host enforces them.
func ruled(t testing.TB, p *Provider, l *providertest.Lab, limits forkbox.Limits) forkbox.Box {
	t.Helper()
	holds, policy := p.Holds(), forkbox.Policy{}
	for r, v := range limits {
		if holds[r].How != forkbox.Enforced {
			t.Skipf("%s is not enforced here: %s", r, holds[r].Why)
		}
		policy[r] = forkbox.Rule{Value: v, From: "box", How: forkbox.Enforced}
	}
	return l.Box(func(b *forkbox.Box) { b.Policy = policy })
}

// hungry takes as much memory as it can get.
const hungry = `exec python3 -c 'x = bytearray(1 << 30)'`

func TestMemoryLimitIsTheCauseOfDeath(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	r := l.Start(ruled(t, p, l, forkbox.Limits{forkbox.Memory: 64 << 20, forkbox.Swap: 0}))
	end := r.Run(providertest.Shell(hungry), nil)
	want := forkbox.Exit{Code: 137, Signal: "SIGKILL", Cause: forkbox.CauseOOM, By: "kernel", Limit: 64 << 20}
	got := end.Exit
	if got.Peak < 32<<20 || !strings.Contains(got.Why, "memory limit of 64m") {
		t.Errorf("%+v", got)
	}
	if got.Peak, got.Why = 0, ""; got != want {
		t.Errorf("%+v", got)
	}
	// The shell goes on, and fails for its child.
	if got := r.Run(providertest.Shell(`python3 -c 'x = bytearray(1 << 30)'; exit 3`), nil).Exit; got.Cause != forkbox.CauseOOM || got.Code != 3 {
		t.Errorf("the child of a command was killed: %+v", got)
	}
	if got := r.Run(providertest.Shell("exit 4"), nil).Exit; got.Cause != forkbox.CauseExited {
		t.Errorf("what has nothing to do with it: %+v", got)
	}
}

func TestExecsOwnLimitIsTighter(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	r := l.Start(ruled(t, p, l, forkbox.Limits{forkbox.Memory: 900 << 20, forkbox.Pids: 500}))
	spec := providertest.Shell(hungry)
	spec.Limits = forkbox.Limits{forkbox.Memory: 48 << 20, forkbox.Swap: 0}
	if got := r.Run(spec, nil).Exit; got.Cause != forkbox.CauseOOM || got.Limit != 48<<20 {
		t.Errorf("%+v", got)
	}
	spec = providertest.Shell("for i in 1 2 3 4 5 6 7 8 9; do sleep 60 & done; wait")
	spec.Limits = forkbox.Limits{forkbox.Pids: 4}
	if got := r.Run(spec, nil).Exit; got.Cause != forkbox.CausePids || got.Limit != 4 {
		t.Errorf("%+v", got)
	}
}

func TestFilesLimit(t *testing.T) {
	t.Parallel()
	_, l := lab(t)
	r := l.Start(l.Box())
	spec := providertest.Shell("ulimit -Hn; ulimit -Sn; ulimit -n 1000 2>/dev/null || echo no more")
	spec.Limits = forkbox.Limits{forkbox.Files: 20}
	if got := r.Run(spec, nil).Stdout; got != "20\n20\nno more\n" {
		t.Errorf("%q", got)
	}
	if got := r.Sh("ulimit -Sn"); got == "20" {
		t.Error("others are limited too")
	}
}

// What leaves its parents, its session and its environment behind ends with
// its exec all the same.
func TestKillReachesWhatHid(t *testing.T) {
	t.Parallel()
	_, l := lab(t)
	r := l.Start(l.Box())
	spec := providertest.Shell(`(setsid env -i /bin/sh -c 'trap "" TERM; while :; do /bin/sleep 1; done' &) ; sleep 60`)
	id := r.ID()
	must(t, r.Exec(id, spec, forkbox.Stdio{}, 1<<20))
	hidden := func() (n int) {
		ps, err := r.Instance.Processes(context.Background())
		must(t, err)
		for _, x := range ps {
			if strings.Join(x.Command, " ") == "/bin/sleep 1" { // it ignores TERM by then
				n++
			}
		}
		return n
	}
	providertest.Eventually(t, "it hides", func() bool { return hidden() > 0 })
	must(t, r.Instance.Kill(context.Background(), id, 100*time.Millisecond))
	if n := hidden(); n > 0 {
		t.Errorf("%d got away", n)
	}
	if end := r.Wait(id); end.Exit.Cause != forkbox.CauseStopped || !end.Exit.Forced {
		t.Errorf("%+v", end.Exit)
	}
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	_, l := lab(t)
	r := l.Start(l.Box())
	id, dir := r.ID(), providertest.Tree(t, nil)
	theirs, ours := l.Pipes()
	defer ours.Close()
	must(t, r.Exec(id, providertest.Shell("while :; do echo x; sleep 0.01; done # "+dir), theirs, 1<<20))
	lines := bufio.NewReader(ours.Out)
	read := func() { _, err := lines.ReadString('\n'); must(t, err) }
	read()
	governed := r.Instance.(forkbox.Governed)
	for range 2 { // both can be repeated
		must(t, governed.Pause(context.Background()))
	}
	if ps, err := r.Instance.Processes(context.Background()); err != nil || len(ps) < 2 {
		t.Errorf("init does not answer: %v, %v", ps, err)
	}
	must(t, ours.Out.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
	for err := error(nil); err == nil; _, err = lines.ReadString('\n') { // what was in the pipe
	}
	must(t, ours.Out.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	if text, err := lines.ReadString('\n'); err == nil {
		t.Errorf("it went on: %q", text)
	}
	must(t, ours.Out.SetReadDeadline(time.Time{}))
	for range 2 {
		must(t, governed.Resume(context.Background()))
	}
	read()
	must(t, governed.Pause(context.Background())) // a box that stands still can be stopped
}

func TestStats(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	r := l.Start(l.Box())
	id := r.ID()
	must(t, r.Exec(id, providertest.Shell("while :; do :; done & wait"), forkbox.Stdio{}, 1<<20))
	providertest.Eventually(t, "processors are used", func() bool {
		s, err := r.Instance.(forkbox.Governed).Stats(context.Background())
		must(t, err)
		return s.CPU > 20*time.Millisecond && s.Memory > 0 && s.Pids >= 2 && !s.Time.IsZero() && (p.governor.groups == nil || s.MemoryPeak > 0)
	})
}

func TestAttachToADetachedExec(t *testing.T) {
	t.Parallel()
	for _, tty := range []bool{false, true} {
		_, l := lab(t)
		r := l.Start(l.Box())
		id := r.ID()
		spec := providertest.Shell("while read line; do echo got $line; [ $line = end ] && exit 7; done; exit 8")
		spec.Open, spec.TTY = true, tty
		must(t, r.Exec(id, spec, forkbox.Stdio{}, 1<<20))
		for _, word := range []string{"first", "end"} { // one goes, another comes
			theirs, ours := l.Pipes()
			must(t, r.Instance.(forkbox.Governed).Attach(context.Background(), id, theirs))
			_, err := ours.In.WriteString(word + "\n")
			must(t, err)
			out := bufio.NewReader(ours.Out)
			for text := ""; !strings.Contains(text, "got "+word); {
				text, err = out.ReadString('\n')
				must(t, err)
			}
			ours.Out.Close()
			if word == "end" {
				ours.In.Close()
			}
		}
		if end := r.Wait(id); end.Exit.Code != 7 {
			t.Errorf("terminal %v: %+v", tty, end.Exit)
		}
		theirs, ours := l.Pipes()
		defer ours.Close()
		if err := r.Instance.(forkbox.Governed).Attach(context.Background(), id, theirs); forkbox.CodeOf(err) != forkbox.NotFound {
			t.Errorf("attach to what has ended: %v", err)
		}
	}
}

// A box can take every descriptor that init holds: none of them may lead to
// cgroups that are not its own.
func TestPromise1NoWayToTheHostsGroups(t *testing.T) {
	t.Parallel()
	_, l := lab(t)
	r := l.Start(l.Box())
	// Execs come and go, and one of them looks at init all the time.
	id := r.ID()
	must(t, r.Exec(id, providertest.Shell(`while :; do for f in /proc/1/fd/*; do case $(readlink $f) in
		*cgroup*|*/tasks|*/freezer*) [ -d $f/ ] && ls $f/.. && exit 9;; esac; done; done`), forkbox.Stdio{}, 1<<20))
	for range 30 {
		r.Sh("true")
	}
	must(t, r.Instance.Kill(context.Background(), id, 0))
	if end := r.Wait(id); end.Exit.Code == 9 {
		t.Error("init held a directory of the cgroup filesystem")
	}
}

// The next daemon knows the groups of a box, and what was killed meanwhile.
func TestNextDaemonFindsTheGroups(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	box := ruled(t, p, l, forkbox.Limits{forkbox.Memory: 64 << 20, forkbox.Swap: 0})
	r := l.Start(box)
	first := r.Instance.(*instance)
	if first.group == nil {
		t.Skip("no cgroups here: ", p.governor.noGroups)
	}
	first.conn.Close() // as if the daemon had died
	again := l.Attach(box)
	if g := again.Instance.(*instance).group; g == nil || g.ID() != first.group.ID() {
		t.Fatalf("%v", g)
	}
	if got := again.Run(providertest.Shell(hungry), nil).Exit; got.Cause != forkbox.CauseOOM || got.Limit != 64<<20 {
		t.Errorf("%+v", got)
	}
	must(t, again.Instance.Stop(context.Background(), 0))
	providertest.Eventually(t, "its groups go", func() bool {
		left, _ := filepath.Glob("/sys/fs/cgroup/*/forkbox-*/" + box.ID + "*")
		return len(left) == 0
	})
}

func TestLimitChangesWhatRuns(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	box := ruled(t, p, l, forkbox.Limits{forkbox.Pids: 8})
	r := l.Start(box)
	spawn := providertest.Shell("for i in 1 2 3 4 5 6 7 8 9; do sleep 1 & done; wait")
	if got := r.Run(spawn, nil).Exit; got.Cause != forkbox.CausePids {
		t.Errorf("%+v", got)
	}
	box.Policy[forkbox.Pids] = forkbox.Rule{Value: 100, From: "box", How: forkbox.Enforced}
	must(t, p.Limit(context.Background(), box, r.Instance))
	if got := r.Run(spawn, nil).Exit; got.Code != 0 {
		t.Errorf("%+v", got)
	}
}

// What the host cannot hold any more is an error, not a box without limits.
func TestPromise5LimitsThatCannotBeHeld(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	groups, why := p.governor.groups, p.governor.noGroups
	t.Cleanup(func() { p.governor.groups, p.governor.noGroups = groups, why })
	box := l.Box(func(b *forkbox.Box) {
		b.Policy = forkbox.Policy{forkbox.Memory: {Value: 64 << 20, From: "box", How: forkbox.Enforced}}
	})
	p.governor.groups, p.governor.noGroups = nil, forkbox.Errorf(forkbox.Unsupported, "make cgroups", "a test says so")
	if _, err := p.Start(context.Background(), box); forkbox.CodeOf(err) != forkbox.Unsupported {
		t.Errorf("%v", err)
	}
	if err := p.Limit(context.Background(), box, nil); forkbox.CodeOf(err) != forkbox.Unsupported {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(p.builder.socket(box.ID)); err == nil {
		t.Error("something was started")
	}
}
