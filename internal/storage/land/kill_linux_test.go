package land

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// landAndDie is what the process does that TestPromise2KillNine kills.
func landAndDie(t *testing.T, dir string) {
	var n int
	fmt.Sscan(os.Getenv("LAND_KILL_STEP"), &n)
	w := newWorld(t, dir)
	items := w.everything()
	atStep(n, func(string) error { return unix.Kill(os.Getpid(), unix.SIGKILL) })
	w.must(w.tryLand(items))
}

// TestPromise2KillNine: a real kill -9 of a real process, on a real disk.
func TestPromise2KillNine(t *testing.T) {
	if dir := os.Getenv("LAND_KILL_DIR"); dir != "" {
		landAndDie(t, dir)
		return
	}
	for n := 3; ; n += 11 {
		dir := t.TempDir()
		w := newWorld(t, dir)
		w.furnish()
		t.Cleanup(func() { wipe(dir) })
		before := w.snap()
		cmd := exec.Command(os.Args[0], "-test.run=^TestPromise2KillNine$")
		cmd.Env = append(os.Environ(), "LAND_KILL_DIR="+dir, fmt.Sprint("LAND_KILL_STEP=", n))
		out, err := cmd.CombinedOutput()
		w.landings++
		o := w.recover()
		var exit *exec.ExitError
		killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == unix.SIGKILL
		if err != nil && !killed {
			t.Fatalf("%v: %s", err, out)
		}
		w.decided(fmt.Sprintf("killed at step %d", n), o, before)
		if !killed {
			if o.State != After {
				t.Error(o)
			}
			return
		}
	}
}
