package layers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// filesystem makes an image with mkfs.<kind> and mounts it until the test
// ends. It is in a directory that every user can reach.
func filesystem(t *testing.T, kind string, options ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting an image needs root")
	}
	mkfs, err := exec.LookPath("mkfs." + kind)
	if err != nil {
		t.Skipf("mkfs.%s is not installed (Debian: btrfs-progs, xfsprogs)", kind)
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("this host has no loop devices")
	}
	dir, err := os.MkdirTemp("", "forkbox-layers-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	image, mnt := filepath.Join(dir, "image"), filepath.Join(dir, "mnt")
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 1<<30))
	must(t, os.Mkdir(mnt, 0o755))
	must(t, os.Chmod(dir, 0o755))
	command(t, mkfs, append(options, image)...)
	command(t, "mount", "-o", "loop", image, mnt)
	t.Cleanup(func() { command(t, "umount", mnt) }) // which frees the loop device
	return mnt
}

func command(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %q: %v\n%s", name, args, err, out)
		t.FailNow()
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
