package freezer

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// family is a process whose descendants count into files, as fast as they can.
func family(t *testing.T) (init int, count func() int64) {
	t.Helper()
	dir := t.TempDir()
	script := `for i in 1 2 3; do (while :; do echo x >>` + dir + `/$i; done) & done; sh -c 'while :; do (echo x >>` + dir + `/4); done' & echo ready; wait`
	cmd := exec.Command("sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range append(Descendants(cmd.Process.Pid), cmd.Process.Pid) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
		_ = cmd.Wait()
		for _, pid := range Descendants(os.Getpid()) {
			t.Errorf("process %d is left", pid)
		}
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, func() (sum int64) {
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			if info, err := f.Info(); err == nil {
				sum += info.Size()
			}
		}
		return sum
	}
}

func grows(count func() int64) bool {
	was := count()
	for range 200 {
		if count() > was {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func standsStill(t *testing.T, count func() int64) {
	t.Helper()
	was := count()
	time.Sleep(50 * time.Millisecond)
	if now := count(); now != was {
		t.Errorf("it went on: %d bytes, then %d", was, now)
	}
}

// TestFreezeAndThaw also when who froze was killed before letting it go on: a
// note is all that Thaw knows.
func TestFreezeAndThaw(t *testing.T) {
	init, count := family(t)
	note := filepath.Join(t.TempDir(), "frozen")
	for range 2 { // the second time it stands still already
		if err := Freeze(t.Context(), init, note); err != nil || !Frozen(note) {
			t.Fatal(err)
		}
		standsStill(t, count)
	}
	if err := Thaw(note); err != nil {
		t.Fatal(err)
	}
	if !grows(count) {
		t.Error("it does not go on")
	}
	wantGone(t, note)
	if err := Thaw(note); err != nil {
		t.Error("a second time:", err)
	}
}

func TestGivenUp(t *testing.T) {
	init, count := family(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	note := filepath.Join(t.TempDir(), "frozen")
	if err := Freeze(ctx, init, note); err == nil {
		_ = Thaw(note) // it was faster
	}
	if !grows(count) {
		t.Error("it does not go on")
	}
	wantGone(t, note)
}

func wantGone(t *testing.T, file string) {
	t.Helper()
	if _, err := os.Lstat(file); err == nil {
		t.Errorf("%s is left", file)
	}
}

// TestVfork: a process that waits in vfork cannot be stopped before its child
// has gone on.
func TestVfork(t *testing.T) {
	cmd := exec.Command("sh", "-c", "for i in 1 2 3 4; do (while :; do date >/dev/null; done) & done; wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, pid := range append(Descendants(cmd.Process.Pid), cmd.Process.Pid) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
		_ = cmd.Wait()
	}()
	for range 100 {
		note := filepath.Join(t.TempDir(), "frozen")
		if err := errors.Join(Freeze(t.Context(), cmd.Process.Pid, note), Thaw(note)); err != nil {
			t.Fatal(err)
		}
	}
}
