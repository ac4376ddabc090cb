package quota

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// onBtrfs runs a test on a btrfs in an image of its own, in a process with
// mounts of its own: nothing is left even if the test is killed, and no process
// that makes a mount namespace meanwhile keeps the image mounted.
func onBtrfs(t *testing.T, do func(mnt string)) {
	t.Helper()
	if dir := os.Getenv("QUOTA_TEST_MOUNT"); dir != "" {
		do(mountImage(t, dir))
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("mounting an image needs root")
	}
	if _, err := exec.LookPath("mkfs.btrfs"); err != nil {
		t.Skip("mkfs.btrfs is not installed (Debian: btrfs-progs)")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("this host has no loop devices")
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), "QUOTA_TEST_MOUNT="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} // Go makes them private
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func mountImage(t *testing.T, dir string) string {
	t.Helper()
	image, mnt := filepath.Join(dir, "image"), filepath.Join(dir, "mnt")
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 1<<30))
	must(t, os.Mkdir(mnt, 0o755))
	command(t, "mkfs.btrfs", "-q", image)
	command(t, "mount", "-o", "loop", image, mnt)
	t.Cleanup(func() { command(t, "umount", mnt) }) // which frees the loop device
	return mnt
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if t.Context().Err() != nil { // when cleaning up
		out, err = exec.Command(name, args...).CombinedOutput()
	}
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
