package providertest

import (
	"bufio"
	"context"
	"io"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

var killChecks = []check{
	{"EndsTheTree", killEndsTheTree},
	{"EndsTheTreeGently", killGently},
	{"LeavesOthersAlone", killLeavesOthersAlone},
	{"NobodyReads", killNobodyReads},
	{"NotRunning", killNotRunning},
}

// stubborn is a process tree that does all it can to stay: own sessions, own
// parents, no signal that can be ignored.
const stubborn = `trap '' TERM HUP INT
setsid sh -c '(setsid sh -c "exec sleep 1000" &); sleep 1000' &
(sh -c 'sleep 1000' &)
echo ready
sleep 1000`

// begin starts a script and waits for its line "ready".
func (r *Running) begin(script string) (id string, ours forkbox.Stdio) {
	r.lab.t.Helper()
	theirs, ours := r.lab.Pipes()
	r.lab.t.Cleanup(ours.Close)
	id = r.ID()
	if err := r.Exec(id, Shell(script), theirs, logCap); err != nil {
		r.lab.t.Fatal(err)
	}
	r.lab.expectReady(ours.Out)
	return id, ours
}

func (l *Lab) expectReady(out io.Reader) {
	l.t.Helper()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		l.t.Fatalf("it said %q, %v", line, err)
	}
}

func killEndsTheTree(t *testing.T, r *Running) {
	id, _ := r.begin(stubborn)
	Eventually(t, "the tree has grown", func() bool { return Marked(r.Box, id) >= 6 })
	if err := r.Instance.Kill(context.Background(), id, 0); err != nil {
		t.Error(err)
	}
	end := r.Wait(id)
	if end.Exit.Cause != forkbox.CauseStopped || end.Exit.Code != 137 {
		t.Errorf("ended with %+v", end.Exit)
	}
	Eventually(t, "all that it started is gone", func() bool { return Marked(r.Box, id) == 0 })
}

func killGently(t *testing.T, r *Running) {
	id, ours := r.begin(`trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.02; done`)
	if err := r.Instance.Kill(context.Background(), id, patience); err != nil {
		t.Error(err)
	}
	if end := r.Wait(id); end.Exit.Code != 7 || end.Exit.Cause != forkbox.CauseStopped {
		t.Errorf("ended with %+v", end.Exit)
	}
	if out, _ := io.ReadAll(ours.Out); string(out) != "bye\n" {
		t.Errorf("it could not say good-bye: %q", out)
	}
}

func killLeavesOthersAlone(t *testing.T, r *Running) {
	first, _ := r.begin("echo ready; sleep 1000")
	second, _ := r.begin("echo ready; sleep 1000")
	if err := r.Instance.Kill(context.Background(), first, 0); err != nil {
		t.Error(err)
	}
	r.Wait(first)
	if Marked(r.Box, second) == 0 {
		t.Error("the kill hit another exec")
	}
	_ = r.Instance.Kill(context.Background(), second, 0)
}

// killNobodyReads: the caller may be stopped, or hang. What it does not read
// must not keep an exec from ending.
func killNobodyReads(t *testing.T, r *Running) {
	theirs, ours := r.lab.Pipes()
	defer ours.Close()
	id := r.ID()
	if err := r.Exec(id, forkbox.ExecSpec{Argv: []string{"yes"}}, theirs, logCap); err != nil {
		t.Fatal(err)
	}
	r.Sh("sleep 0.2") // until the pipes are full
	if err := r.Instance.Kill(context.Background(), id, 0); err != nil {
		t.Error(err)
	}
	if end := r.Wait(id); end.Exit.Cause != forkbox.CauseStopped {
		t.Errorf("ended with %+v", end.Exit)
	}
}

func killNotRunning(t *testing.T, r *Running) {
	done := r.Run(Shell("true"), nil).ID
	for _, id := range []string{done, "no-such-exec"} {
		if err := r.Instance.Kill(context.Background(), id, time.Second); forkbox.CodeOf(err) != forkbox.NotFound {
			t.Errorf("kill %s: %v", id, err)
		}
	}
}

var signalChecks = []check{
	{"ReachesTheExec", signalReaches},
	{"DefaultAction", signalDefault},
	{"NotRunning", signalNotRunning},
}

const usr1, term = 10, 15 // on every architecture that Go runs on, mips excepted

func signalReaches(t *testing.T, r *Running) {
	id, ours := r.begin(`trap 'echo got it; exit 4' USR1; echo ready; while :; do sleep 0.02; done`)
	if err := r.Instance.Signal(context.Background(), id, usr1); err != nil {
		t.Fatal(err)
	}
	if end := r.Wait(id); end.Exit.Code != 4 || end.Exit.Cause != forkbox.CauseExited {
		t.Errorf("ended with %+v", end.Exit)
	}
	if out, _ := io.ReadAll(ours.Out); string(out) != "got it\n" {
		t.Errorf("it said %q", out)
	}
}

func signalDefault(t *testing.T, r *Running) {
	id, _ := r.begin("echo ready; exec sleep 1000")
	if err := r.Instance.Signal(context.Background(), id, term); err != nil {
		t.Fatal(err)
	}
	want := forkbox.Exit{Code: 143, Signal: "SIGTERM", Cause: forkbox.CauseSignalled}
	if end := r.Wait(id); end.Exit != want {
		t.Errorf("ended with %+v", end.Exit)
	}
}

func signalNotRunning(t *testing.T, r *Running) {
	if err := r.Instance.Signal(context.Background(), "no-such-exec", term); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("got %v", err)
	}
}
