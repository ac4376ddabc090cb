//go:build linux

package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// TestDetached starts a command that no client waits for, lists it, follows
// it, ends it; and one that ends with its box.
func TestDetached(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.create("back", "")
	argv := append([]string{"exec", "-d", "back", "--"}, hogArgv(w.self, "tick")...)
	first := w.must(argv...)
	second := w.must(argv...)
	w.runs("back", first, second)

	follow := w.command("logs", "-f", "back", first)
	out, err := follow.StdoutPipe()
	w.ok(err)
	w.ok(follow.Start())
	_, err = io.ReadFull(out, make([]byte, len("tick\ntick\n")))
	w.ok(err)
	w.must("kill", "back", first)
	_, _ = io.Copy(io.Discard, out)
	w.ok(follow.Wait())
	w.endedSo("back", first, forkbox.CauseStopped)
	w.runs("back", second)

	w.must("stop", "back")
	w.endedSo("back", second, forkbox.CauseStopped)
	w.until("nothing ticks", func() bool { return len(processesWith("tick", w.self)) == 0 })
}

// runs finds that execs run, detached, and no others.
func (w *limitWorld) runs(box string, want ...string) {
	w.Helper()
	var list api.ExecList
	w.reads(&list, "execs", box)
	var running []string
	for _, e := range list.Execs {
		if e.Exit == nil && e.Detached {
			running = append(running, e.ID)
		}
	}
	if strings.Join(running, " ") != strings.Join(want, " ") {
		w.Errorf("these run detached: %q, not %q", running, want)
	}
}

// endedSo waits for the end of an exec.
func (w *limitWorld) endedSo(box, id string, cause forkbox.Cause) {
	w.Helper()
	e, err := w.WaitExec(w.Context(), box, id, api.KeepOnDisconnect)
	w.ok(err)
	if e.Exit == nil || e.Exit.Cause != cause {
		w.Errorf("exec %s ended so: %+v, not %s", id, e.Exit, cause)
	}
}

// TestDetachedAttach joins a detached command twice: what is written to it
// arrives, and what it says is heard. It outlives who joined, and the daemon.
func TestDetachedAttach(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box := w.create("join", "").ID
	e, err := w.ExecDetached(t.Context(), box, api.ExecRequest{
		ExecSpec: forkbox.ExecSpec{Argv: hogArgv(w.self, "memory-steps"), Dir: w.root, Open: true},
	})
	w.ok(err)
	for _, size := range []string{"1m", "2m"} {
		joined := w.join(box, e.ID)
		joined.says(size)
		joined.hears("took " + size)
		joined.Close()
		w.restart()
	}
	joined := w.join(box, e.ID)
	w.ok(w.Kill(t.Context(), box, e.ID, 0))
	if done, _ := joined.ends(); done.Exit.Cause != forkbox.CauseStopped {
		t.Errorf("it ended so: %+v", *done.Exit)
	}
}

func (w *limitWorld) join(box, id string) *task {
	w.Helper()
	inside, in, err := os.Pipe()
	w.ok(err)
	out, outside, err := os.Pipe()
	w.ok(err)
	s, err := w.AttachExec(w.Context(), box, id, forkbox.Stdio{In: inside, Out: outside})
	w.ok(err)
	inside.Close()
	outside.Close()
	w.Cleanup(func() { in.Close(); out.Close() })
	return newTask(w, s, in, out)
}
