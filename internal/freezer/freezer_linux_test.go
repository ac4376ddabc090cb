package freezer

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
		for _, pid := range append(descendants(cmd.Process.Pid), cmd.Process.Pid) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
		_ = cmd.Wait()
		for _, pid := range descendants(os.Getpid()) {
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

func ways(t *testing.T) map[string]func(init int, note string) (*Frozen, error) {
	signals := func(init int, note string) (*Frozen, error) {
		f := &Frozen{How: "signals", since: time.Now()}
		return f, f.bySignals(t.Context(), init, note)
	}
	all := map[string]func(int, string) (*Frozen, error){"signals": signals}
	if os.Geteuid() == 0 {
		all["cgroup"] = func(init int, note string) (*Frozen, error) {
			f, err := Freeze(t.Context(), init, "test"+strconv.Itoa(init), note)
			if err == nil && f.How != "cgroup" {
				t.Errorf("root froze by %s", f.How)
			}
			return f, err
		}
	}
	return all
}

func TestFreezeAndThaw(t *testing.T) {
	for name, freeze := range ways(t) {
		t.Run(name, func(t *testing.T) {
			init, count := family(t)
			note := filepath.Join(t.TempDir(), "frozen")
			f, err := freeze(init, note)
			if err != nil {
				t.Fatal(err)
			}
			standsStill(t, count)
			if paused, err := f.Thaw(); err != nil || paused <= 0 {
				t.Fatal(paused, err)
			}
			if !grows(count) {
				t.Error("it does not go on")
			}
			wantGone(t, note)
		})
	}
}

// TestRecover: whoever froze a box may be killed before letting it go on.
func TestRecover(t *testing.T) {
	for name, freeze := range ways(t) {
		t.Run(name, func(t *testing.T) {
			init, count := family(t)
			note := filepath.Join(t.TempDir(), "frozen")
			if _, err := freeze(init, note); err != nil {
				t.Fatal(err)
			}
			if err := Recover(note); err != nil {
				t.Fatal(err)
			}
			if !grows(count) {
				t.Error("it does not go on")
			}
			wantGone(t, note)
			if err := Recover(note); err != nil {
				t.Error("a second time:", err)
			}
		})
	}
}

func TestGivenUp(t *testing.T) {
	init, count := family(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	note := filepath.Join(t.TempDir(), "frozen")
	if f, err := Freeze(ctx, init, "test"+strconv.Itoa(init), note); err == nil {
		_, _ = f.Thaw() // it was faster
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
	for name, freeze := range ways(t) {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", "for i in 1 2 3 4; do (while :; do date >/dev/null; done) & done; wait")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				for _, pid := range append(descendants(cmd.Process.Pid), cmd.Process.Pid) {
					if p, err := os.FindProcess(pid); err == nil {
						_ = p.Kill()
					}
				}
				_ = cmd.Wait()
			}()
			for range 100 {
				f, err := freeze(cmd.Process.Pid, filepath.Join(t.TempDir(), "frozen"))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.Thaw(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
