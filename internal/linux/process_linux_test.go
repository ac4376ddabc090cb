package linux

import (
	"os"
	"os/exec"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFindAndKill(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "1000")
	must(t, cmd.Start())
	p, err := Find(cmd.Process.Pid)
	must(t, err)
	must(t, p.Kill(unix.SIGKILL))
	must(t, p.Wait())
	_ = cmd.Wait()
	if _, err := Find(cmd.Process.Pid); err == nil {
		t.Error("found a process that is gone")
	}
}

// TestKillAfterWait: the descriptor is closed then, and its number may be that
// of another process by now. Killing what is gone must not hit that one.
func TestKillAfterWait(t *testing.T) {
	t.Parallel()
	gone, err := NewScript().Fork(0)
	must(t, err)
	_, _ = gone.Wait(patience)
	p := gone.Hold()
	must(t, p.Wait())
	if err := p.Kill(unix.SIGKILL); err != nil || p.fd >= 0 {
		t.Errorf("it still holds descriptor %d: %v", p.fd, err)
	}
}

func TestForksAtOnce(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if said, _, err := play(t, 0, func(s *Script, out int) { say(s, out, "x") }); said != "x" || err != nil {
				t.Errorf("said %q, %v", said, err)
			}
		})
	}
	group.Wait()
}

func TestLastCapability(t *testing.T) {
	t.Parallel()
	if n := LastCapability(); n < unix.CAP_AUDIT_READ || n > 63 {
		t.Errorf("got %d", n)
	}
}

func TestKernelAtLeast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		major, minor int
		want         bool
	}{{1, 0, true}, {5, 10, true}, {999, 0, false}} {
		if got := KernelAtLeast(c.major, c.minor); got != c.want {
			t.Errorf("%d.%d: %v", c.major, c.minor, got)
		}
	}
}

func TestReadOnlyClone(t *testing.T) {
	t.Parallel()
	path := tempDir(t) + "/file"
	must(t, os.WriteFile(path, []byte("content"), 0o644))
	fd, err := ReadOnlyClone(path)
	if !RealRoot() {
		if err == nil {
			t.Error("an unprivileged user could clone a mount")
		}
		return
	}
	must(t, err)
	defer unix.Close(fd)
	link := "/proc/self/fd/" + itoa(fd)
	if raw, err := os.ReadFile(link); string(raw) != "content" {
		t.Errorf("read %q, %v", raw, err)
	}
	if err := os.WriteFile(link, []byte("other"), 0o644); err == nil {
		t.Error("it can be written to")
	}
}
