package copying

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestAReflinkIsOfOneMoment(t *testing.T) {
	for _, kind := range []string{"xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) { onFilesystem(t, kind, reflinkWriter) })
	}
}

func reflinkWriter(t *testing.T, mnt string) {
	dir := filepath.Join(mnt, "data")
	must(t, os.Mkdir(dir, 0o700))
	source := []Source{{Name: "writer", PID: startWriter(t, dir), Paths: []string{dir}}}
	if way, _, err := Predict(t.Context(), source, mnt); way != Reflink && way != Snapshot || err != nil {
		t.Errorf("%s is foreseen: %v", way, err)
	}
	for range 5 {
		to, err := os.MkdirTemp(mnt, "copy")
		must(t, err)
		taken, err := Take(t.Context(), source, Options{Put: into(to), MaxPause: plenty, Way: Reflink})
		must(t, err)
		if taken.Way != Reflink || taken.Paused <= 0 {
			t.Errorf("%+v", taken)
		}
		checkWriter(t, filepath.Join(to, "data"))
	}
	// To another filesystem nothing is shared.
	_, err := Take(t.Context(), source, Options{Put: into(t.TempDir()), MaxPause: plenty, Way: Reflink})
	if forkbox.CodeOf(err) != forkbox.Unsupported {
		t.Error(err)
	}
	to := t.TempDir()
	taken, err := Take(t.Context(), source, Options{Put: into(to), MaxPause: plenty})
	if err != nil || taken.Way != Delta {
		t.Errorf("%+v %v", taken, err)
	}
	checkWriter(t, filepath.Join(to, "data"))
}

// onFilesystem runs a test on a filesystem in an image, in a process with mounts
// of its own: so nothing is left even if it is killed.
func onFilesystem(t *testing.T, kind string, do func(t *testing.T, mnt string)) {
	t.Helper()
	if dir := os.Getenv("COPYING_TEST_MOUNT"); dir != "" {
		do(t, mountImage(t, kind, dir))
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
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run="+pattern, "-test.v", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), "COPYING_TEST_MOUNT="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} // Go makes them private
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func mountImage(t *testing.T, kind, dir string) string {
	t.Helper()
	image, mnt := filepath.Join(dir, "image"), filepath.Join(dir, "mnt")
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 1<<30))
	must(t, os.Mkdir(mnt, 0o755))
	run(t, "mkfs."+kind, image)
	run(t, "mount", "-o", "loop", image, mnt)
	t.Cleanup(func() { run(t, "umount", mnt) }) // which frees the loop device
	return mnt
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

// Whatever changed since its blocks were shared, the copy is like the tree after the
// last pass.
func TestTheLastPassSharesWhatChanged(t *testing.T) {
	for _, kind := range []string{"xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) { onFilesystem(t, kind, sharePasses) })
	}
}

func sharePasses(t *testing.T, mnt string) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 55))
		root, to := filepath.Join(mnt, fmt.Sprint("tree-", seed)), filepath.Join(mnt, fmt.Sprint("copy-", seed))
		must(t, os.MkdirAll(filepath.Join(root, "d/e"), 0o755))
		m := newMirror(mustShare)
		items := []item{{from: root, to: to}}
		for range 3 {
			for range 25 {
				change(t, root, r)
			}
			must(t, m.pass(t.Context(), items, true, nil))
		}
		for range r.IntN(25) {
			change(t, root, r)
		}
		must(t, m.pass(t.Context(), items, false, nil))
		wantSame(t, fingerprint(t, root), fingerprint(t, to))
	}
}
