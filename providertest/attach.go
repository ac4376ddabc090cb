package providertest

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

var attachStories = []story{
	{name: "ExecOutlivesTheDaemon", run: execOutlivesTheDaemon, alone: true},
	{name: "ExitWhileNobodyWatched", run: exitWhileNobodyWatched, alone: true},
	{name: "StopAfterACrash", run: stopAfterACrash, alone: true},
	{name: "TerminalOutlivesTheDaemon", run: terminalOutlives, alone: true},
}

// orphan is a box whose daemon died; the test still holds the ends of its exec.
func orphan(t *testing.T, l *Lab, spec forkbox.ExecSpec) (forkbox.Box, forkbox.Stdio) {
	t.Helper()
	box := l.Box()
	theirs, ours := l.Pipes()
	t.Cleanup(ours.Close)
	l.Crash(t, box, Command{ID: "1", Spec: l.Fill(box, "1", spec), Stdio: theirs})
	theirs.Close()
	return box, ours
}

func execOutlivesTheDaemon(t *testing.T, l *Lab) {
	box, ours := orphan(t, l, Shell(`echo before; while read line; do echo "got $line"; echo "err $line" >&2; done; exit 5`))
	out := bufio.NewReader(ours.Out)
	if line, err := out.ReadString('\n'); line != "before\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	r := l.Attach(box)
	if !slices.Equal(r.Listed, []string{"1"}) {
		t.Errorf("attached to %q", r.Listed)
	}
	_, _ = io.WriteString(ours.In, "after\n")
	if line, err := out.ReadString('\n'); line != "got after\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	ours.In.Close()
	if end := r.Wait("1"); end.Exit.Code != 5 || end.Exit.Cause != forkbox.CauseExited {
		t.Errorf("ended with %+v", end.Exit)
	}
	kept := map[string]string{}
	for _, rec := range l.ReadLog(box.ID, "1") {
		kept[rec.Stream] += string(rec.Data)
	}
	if kept["stdout"] != "before\ngot after\n" || kept["stderr"] != "err after\n" {
		t.Errorf("the log has %q", kept)
	}
	r.next.Store(1)
	r.Sh("true")
}

func exitWhileNobodyWatched(t *testing.T, l *Lab) {
	box, ours := orphan(t, l, Shell("cat; exit 9"))
	ours.In.Close()
	_, _ = io.ReadAll(ours.Out)
	Eventually(t, "it is gone", func() bool { return Marked(box, "1") == 0 })
	time.Sleep(20 * time.Millisecond) // not asserted on: either order is right, this one is the test's
	r := l.Attach(box)
	if end := r.Wait("1"); end.Exit.Code != 9 {
		t.Errorf("ended with %+v", end.Exit)
	}
	r.next.Store(1)
	r.Sh("sleep 0.1")
	if n := r.Deliveries("1"); n != 1 {
		t.Errorf("its exit was delivered %d times", n)
	}
}

func stopAfterACrash(t *testing.T, l *Lab) {
	box, ours := orphan(t, l, Shell(stubborn))
	l.expectReady(ours.Out)
	r := l.Attach(box)
	stop(t, r, 0)
	if n := Marked(box, ""); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	r = l.Start(box)
	r.next.Store(1)
	r.Sh("true")
}

func terminalOutlives(t *testing.T, l *Lab) {
	if !l.Traits.TTY {
		return
	}
	spec := Shell("echo ready; read line; stty size")
	spec.TTY, spec.Size = true, forkbox.Size{Rows: 22, Cols: 77}
	box, ours := orphan(t, l, spec)
	out := bufio.NewReader(ours.Out)
	if line, err := out.ReadString('\n'); !strings.HasPrefix(line, "ready") {
		t.Fatalf("read %q, %v", line, err)
	}
	r := l.Attach(box)
	_, _ = io.WriteString(ours.In, "go on\n")
	if end := r.Wait("1"); end.Exit.Code != 0 {
		t.Errorf("ended with %+v", end.Exit)
	}
	if rest, _ := io.ReadAll(out); !strings.Contains(string(rest), "22 77") {
		t.Errorf("the terminal showed %q", rest)
	}
}
