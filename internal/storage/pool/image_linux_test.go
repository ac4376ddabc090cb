package pool

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// inOwnMounts runs a test in a process with mounts of its own: nothing is left
// even if the test is killed, and no process that makes a mount namespace
// meanwhile keeps the pool mounted. The home that do gets has a pool of some
// size, or none if that is 0.
func inOwnMounts(t *testing.T, size int64, do func(home string)) {
	t.Helper()
	if home := os.Getenv("POOL_TEST_HOME"); home != "" {
		if size > 0 {
			must(t, Init(t.Context(), home, size))
		}
		do(home)
		wantNoLoop(t, home)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("mounting a pool needs root")
	}
	if _, err := exec.LookPath("mkfs.btrfs"); err != nil {
		t.Skip("mkfs.btrfs is not installed (Debian: btrfs-progs)")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("this host has no loop devices")
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), "POOL_TEST_HOME="+filepath.Join(t.TempDir(), "home"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} // Go makes them private
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// wantNoLoop: nothing stays behind.
func wantNoLoop(t *testing.T, home string) {
	t.Helper()
	if source, err := mounted(Dir(home)); err != nil || source != "" {
		t.Errorf("%s is still mounted, %v", source, err)
	}
	// Some kernels leave the device to a worker.
	eventually(t, "no loop device is left", func() bool { return len(loopsOf(t, home)) == 0 })
}

// loopsOf are the loop devices that have the home's pool for a file.
func loopsOf(t *testing.T, home string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	must(t, err)
	for _, f := range files {
		text, _ := os.ReadFile(f)
		if strings.HasPrefix(string(text), File(home)) {
			found = append(found, strings.Split(f, "/")[3])
		}
	}
	return found
}

func open(t *testing.T, home string) *Pool {
	t.Helper()
	p, err := Open(t.Context(), home)
	must(t, err)
	if p == nil {
		t.Fatal("there is no pool")
	}
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
