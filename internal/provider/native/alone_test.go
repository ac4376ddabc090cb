//go:build linux

package native

import (
	"context"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
	"github.com/forkbox/forkbox/providertest"
)

// inGroups is a box whose processes are counted.
func inGroups(t *testing.T) (*providertest.Lab, *providertest.Running, *instance) {
	p, l := lab(t)
	r := l.Start(l.Box())
	i := r.Instance.(*instance)
	if holds := p.Holds()[forkbox.Pids]; holds.How != forkbox.Enforced {
		t.Skip("nobody counts processes here: ", holds.Why)
	}
	return l, r, i
}

func count(t *testing.T, i *instance) int {
	t.Helper()
	list, err := i.Processes(context.Background())
	must(t, err)
	return len(list)
}

// Init of a box in which nothing runs is not woken to say so.
func TestAloneIsKnownWithoutInit(t *testing.T) {
	t.Parallel()
	_, r, i := inGroups(t)
	r.Sh("true")
	if n := count(t, i); n != 1 {
		t.Fatalf("%d processes", n)
	}
	if i.alone() == nil {
		t.Fatal("it is not known to be alone")
	}
	must(t, i.process.Kill(unix.SIGSTOP))
	defer func() { must(t, i.process.Kill(unix.SIGCONT)) }()
	if n := count(t, i); n != 1 {
		t.Errorf("%d processes", n)
	}
	must(t, i.Stop(context.Background(), time.Minute))
}

// What an exec left behind is seen, and an exec whose end init has not told yet
// keeps the box from being taken for idle.
func TestNotAlone(t *testing.T) {
	t.Parallel()
	_, r, i := inGroups(t)
	count(t, i)
	id := r.ID()
	must(t, r.Exec(id, providertest.Shell("exec sleep 60"), forkbox.Stdio{}, 1<<20))
	if i.alone() != nil || count(t, i) != 2 {
		t.Error("an exec runs")
	}
	must(t, i.Kill(context.Background(), id, 0))
	r.Wait(id)
	r.Sh("setsid sleep 60 >/dev/null 2>&1 &")
	if i.alone() != nil || count(t, i) != 2 {
		t.Error("an exec has left something running")
	}
	i.runs("77")
	r.Sh("kill -9 -1 || true")
	if i.alone() != nil {
		t.Error("init has not told how exec 77 ended")
	}
}

// The group of the next exec is ready, also for another id, for one with limits
// and for the next daemon.
func TestGroupsAreMadeAhead(t *testing.T) {
	t.Parallel()
	l, r, i := inGroups(t)
	ready := func() string {
		i.enclosure.mu.Lock()
		defer i.enclosure.mu.Unlock()
		if i.enclosure.next == nil {
			return ""
		}
		return i.enclosure.next.id
	}
	r.Sh("true")
	r.Sh("true")
	providertest.Eventually(t, "the next is ready", func() bool { return ready() == "3" })
	r.Sh("true")
	providertest.Eventually(t, "the next is ready", func() bool { return ready() == "4" })
	r.ID()
	r.Sh("true") // 5
	spec := providertest.Shell("true")
	spec.Limits = forkbox.Limits{forkbox.Pids: 20}
	providertest.Eventually(t, "the next is ready", func() bool { return ready() == "6" })
	if end := r.Run(spec, nil); end.Exit.Code != 0 {
		t.Errorf("%+v", end)
	}
	providertest.Eventually(t, "the next is ready", func() bool { return ready() == "7" })
	// The commands to come begin to count anew: a group that the daemon, which lives
	// in truth, still has to remove must not be theirs.
	providertest.Eventually(t, "the groups of what ended are gone", func() bool {
		i.enclosure.mu.Lock()
		defer i.enclosure.mu.Unlock()
		return len(i.enclosure.subs) == 0
	})
	i.conn.Close() // as if the daemon had died
	again := l.Attach(r.Box)
	for range 8 {
		again.Sh("true")
	}
}

// What init starts is killed before init where memory runs out.
func TestInitIsLessExpendable(t *testing.T) {
	t.Parallel()
	_, l := lab(t)
	r := l.Start(l.Box())
	for range 3 {
		own, err := strconv.Atoi(r.Sh("cat /proc/self/oom_score_adj"))
		must(t, err)
		if root && own != 500 {
			t.Errorf("an exec has %d", own)
		}
		if own == 500 {
			r.Sh("for i in $(seq 500); do [ $(cat /proc/1/oom_score_adj) -lt 500 ] && exit; sleep 0.01; done; exit 1")
		}
	}
}

// Root in a box decides what is where in it. Init does not go there.
func TestInitLooksForItsScoreNowhere(t *testing.T) {
	t.Parallel()
	if !root {
		t.Skip("only root can mount in a box")
	}
	_, l := lab(t)
	r := l.Start(l.Box())
	r.Sh("mkfifo /tmp/fbtest-fifo && mount --bind /tmp/fbtest-fifo /proc/1/oom_score_adj && test -p /proc/1/oom_score_adj")
	for range 3 {
		r.Sh("true")
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	if _, err := r.Instance.(*instance).call(ctx, boxinit.Request{Verb: boxinit.DoHello}); err != nil {
		t.Error(err)
	}
}
