package ledger

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDiskCanBeFreedOnRealDisks: with not a byte left, a ledger that is open
// answers and takes note of removals, and one whose daemon was killed can be
// opened again, also when others took the room that the last start made.
func TestFullDiskCanBeFreedOnRealDisks(t *testing.T) {
	for _, kind := range []string{"ext4", "btrfs"} {
		t.Run(kind, func(t *testing.T) { onDisk(t, kind, freesAFullDisk) })
	}
}

func freesAFullDisk(t *testing.T, dir string) {
	path := filepath.Join(dir, "ledger.db")
	k := startKeeper(t, path)
	k.says("add 100", 100)
	fillDisk(t, dir)
	for left := 90; left > 70; left -= 10 {
		k.says("remove 10", left)
		k.kill()
		k = startKeeper(t, path)
		k.says("remove 0", left)
		fillDisk(t, dir)
	}
	k.kill()
	noError(t, os.Remove(filepath.Join(dir, "filler")))
	settle(path)
	noError(t, opened(t, path).Close())
	for n := range spares {
		if _, err := os.Stat(spare(path, n)); err != nil {
			t.Errorf("with room again there is no spare: %v", err)
		}
	}
}

type keeper struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func startKeeper(t *testing.T, path string) *keeper {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), keeping+"="+path)
	in, err := cmd.StdinPipe()
	noError(t, err)
	out, err := cmd.StdoutPipe()
	noError(t, err)
	noError(t, cmd.Start())
	return &keeper{t, cmd, in, bufio.NewReader(out)}
}

// says gives an order, and expects so many boxes to be left.
func (k *keeper) says(order string, left int) {
	k.t.Helper()
	_, _ = fmt.Fprintln(k.in, order)
	line, err := k.out.ReadString('\n')
	if err != nil || line != fmt.Sprintln(left) {
		k.t.Fatalf("%s: %q (%v), and %d boxes should be left", order, line, err, left)
	}
}

func (k *keeper) kill() {
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait()
}

// onDisk runs part of a test on a small filesystem in an image, in a process
// with mounts of its own: a process that makes a mount namespace meanwhile
// would keep ours alive, and this way nothing is left even if the test is
// killed.
func onDisk(t *testing.T, kind string, do func(t *testing.T, dir string)) {
	t.Helper()
	if dir := os.Getenv("LEDGER_TEST_MOUNT"); dir != "" {
		do(t, mountDisk(t, kind, dir))
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("mounting an image needs root")
	}
	for _, needed := range []string{"mkfs." + kind, "mount"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skipf("%s is not installed (Debian: btrfs-progs, e2fsprogs, mount)", needed)
		}
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("this host has no loop devices")
	}
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run="+pattern, "-test.v", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), "LEDGER_TEST_MOUNT="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} // Go makes them private
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func mountDisk(t *testing.T, kind, dir string) string {
	t.Helper()
	image, mnt := filepath.Join(dir, "image"), filepath.Join(dir, "mnt")
	noError(t, os.WriteFile(image, nil, 0o600))
	noError(t, os.Truncate(image, 160<<20))
	noError(t, os.Mkdir(mnt, 0o755))
	for _, args := range [][]string{{"mkfs." + kind, "-q", image}, {"mount", "-o", "loop", image, mnt}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", mnt).CombinedOutput(); err != nil { // which frees the loop device
			t.Errorf("%v\n%s", err, out)
		}
	})
	return mnt
}
