package layers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// onFilesystem runs part of a test on a filesystem that mkfs.<kind> makes in an
// image. It does that in a process with mounts of its own: the test that makes
// a mount namespace meanwhile, as every box does, would keep ours alive, and
// this way nothing is left even if the test is killed.
func onFilesystem(t *testing.T, kind string, do func(mnt string), options ...string) {
	t.Helper()
	if dir := os.Getenv("LAYERS_TEST_MOUNT"); dir != "" {
		do(mountImage(t, kind, dir, options))
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("mounting an image needs root")
	}
	if _, err := exec.LookPath("mkfs." + kind); err != nil {
		t.Skipf("mkfs.%s is not installed (Debian: btrfs-progs, xfsprogs)", kind)
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("this host has no loop devices")
	}
	dir, err := os.MkdirTemp("", "forkbox-layers-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755)) // every user has to reach it
	inOwnMounts(t, dir)
}

// inOwnMounts runs the test again, in a process with mounts of its own.
func inOwnMounts(t *testing.T, dir string) {
	t.Helper()
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run="+pattern, "-test.v", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), "LAYERS_TEST_MOUNT="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} // Go makes them private
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func mountImage(t *testing.T, kind, dir string, options []string) string {
	t.Helper()
	image, mnt := filepath.Join(dir, "image"), filepath.Join(dir, "mnt")
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 1<<30))
	must(t, os.Mkdir(mnt, 0o755))
	command(t, "mkfs."+kind, append(options, image)...)
	command(t, "mount", "-o", "loop", image, mnt)
	t.Cleanup(func() { command(t, "umount", mnt) }) // which frees the loop device
	return mnt
}

func command(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// tester is a test, or one try of a property.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	FailNow()
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
