package copying

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/freezer"
)

// beDaemon freezes a process for a long time, and waits to be killed.
func beDaemon(pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	if _, err := freeze(context.Background(), freezer.Stopped{n: freezer.StartOf(n)}, time.Hour); err != nil {
		return err
	}
	fmt.Println("frozen")
	select {}
}

// startFamily is a process with others below it, one of which stands still.
func startFamily(t *testing.T) (root, still int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", `sleep 1000 & still=$!; kill -STOP $still; (while :; do sleep 0.01; done) & sh -c 'sleep 1000 & wait' & echo $still; wait`)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		for range 5 { // what they start meanwhile
			for _, pid := range freezer.FamilyOf(cmd.Process.Pid) {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	still, err = strconv.Atoi(line[:len(line)-1])
	must(t, err)
	wait(t, "one of them stands still", func() bool { return freezer.State(still) == 'T' })
	return cmd.Process.Pid, still
}

// wait waits for something that comes in any case.
func wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 60_000 {
		if is() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("it never is so that " + what)
}

func waitRunning(t *testing.T, pid int, but ...int) {
	t.Helper()
	stays := map[int]bool{}
	for _, pid := range but {
		stays[pid] = true
	}
	wait(t, "all go on", func() bool {
		for _, pid := range freezer.FamilyOf(pid) {
			if freezer.State(pid) == 'T' && !stays[pid] {
				return false
			}
		}
		return true
	})
	for _, pid := range but {
		if s := freezer.State(pid); s != 'T' {
			t.Errorf("process %d, which stood still before, is %c", pid, s)
		}
	}
}

func wantStopped(t *testing.T, root int) {
	t.Helper()
	for _, pid := range freezer.FamilyOf(root) {
		if s := freezer.State(pid); s != 'T' && s != 'Z' && s != 0 {
			t.Errorf("process %d is %c", pid, s)
		}
	}
}

func freezeFamily(t *testing.T, root int, pause time.Duration) *frozen {
	t.Helper()
	f, err := freeze(t.Context(), freezer.Stopped{root: freezer.StartOf(root)}, pause)
	must(t, err)
	return f
}

func TestAllGoOnWhenTheyAreLet(t *testing.T) {
	root, still := startFamily(t)
	for range 3 {
		f := freezeFamily(t, root, time.Hour)
		wantStopped(t, root)
		paused, err := f.thaw()
		if err != nil || paused <= 0 {
			t.Error(paused, err)
		}
		waitRunning(t, root, still)
	}
}

func TestAllGoOnAtTheDeadline(t *testing.T) {
	root, still := startFamily(t)
	f, err := freeze(t.Context(), freezer.Stopped{root: freezer.StartOf(root)}, time.Second)
	waitRunning(t, root, still)
	if err != nil {
		t.Skip("the machine was too busy to stop them within a second:", err)
	}
	if _, err := f.thaw(); !errors.Is(err, errLate) {
		t.Errorf("who was late is not told: %v", err)
	}
}

// Kill -9 of the daemon.
func TestAllGoOnWhenTheDaemonIsKilled(t *testing.T) {
	root, still := startFamily(t)
	daemon := exec.Command("/proc/self/exe", "be-daemon", strconv.Itoa(root))
	daemon.Stderr = os.Stderr
	out, err := daemon.StdoutPipe()
	must(t, err)
	must(t, daemon.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q %v", line, err)
	}
	wantStopped(t, root)
	must(t, daemon.Process.Kill())
	waitRunning(t, root, still)
	_ = daemon.Wait()
}

// A signal that the holder can catch, and one that it cannot: then it is the
// daemon that lets them go on. The copy fails either way.
func TestAllGoOnWhenTheHolderEnds(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGKILL} {
		root, still := startFamily(t)
		f := freezeFamily(t, root, time.Hour)
		must(t, f.holder.Process.Signal(sig))
		if sig != unix.SIGKILL {
			waitRunning(t, root, still)
		}
		if _, err := f.thaw(); err == nil {
			t.Errorf("%v: the copy is taken for one of one moment", sig)
		}
		waitRunning(t, root, still)
	}
}

func TestAnotherProcessIsNotStopped(t *testing.T) {
	root, still := startFamily(t)
	if _, err := freeze(t.Context(), freezer.Stopped{root: "1"}, time.Hour); err == nil {
		t.Error("a process that started at another time is taken for it")
	}
	waitRunning(t, root, still)
}
