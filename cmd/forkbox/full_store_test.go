//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// TestFullStoreCanBeFreed: with not a byte left on the store's disk every verb
// answers, in words that help, a daemon that was killed starts again, a removal
// gives room at once, and nothing is lost.
func TestFullStoreCanBeFreed(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"ext4", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			inMountsOfItsOwn(t, func(t *testing.T) { freesAFullStore(t, kind) })
		})
	}
}

func freesAFullStore(t *testing.T, kind string) {
	w := newLandWorld(t)
	w.storeOn(kind)
	w.write("a", "old\n")
	keep, large := w.fork("keep"), w.fork("large")
	w.in(keep, "sh", "-c", "echo new >> a")
	w.in(large, "sh", "-c", "head -c 40000000 /dev/urandom > large; sync large")
	w.fillStore()
	before, both := w.reality(), w.fb("ls")
	err := w.refused(forkbox.Busy, "new", "--wait", "1s")
	if !strings.Contains(strings.Join(err.Hints, "\n"), "forkbox rm") {
		t.Errorf("it does not say what to do: %v %q", err, err.Hints)
	}
	for _, args := range [][]string{{"snapshot", keep}, {"apply", "--yes", keep}, {"undo", "--yes"}} {
		out, err := w.try(args...)
		if err != nil && err.Code == forkbox.Internal && !strings.Contains(strings.Join(err.Hints, "\n"), "free some") {
			t.Errorf("forkbox %q does not say what to do: %v %q", args, err, err.Hints)
		}
		t.Log(args, out, err)
	}
	w.fb("diff", keep)
	w.kill()
	if strings.Count(w.fb("ls"), `"name"`) != strings.Count(both, `"name"`) {
		t.Errorf("after a kill there are %s\nand not %s", w.fb("ls"), both)
	}
	w.fb("gc")
	had := w.room()
	w.fb("rm", "-f", large)
	if got := w.room() - had; got < 30<<20 {
		t.Errorf("a removal gave %d bytes", got)
	}
	w.ok(os.Remove(filepath.Join(w.home, "filler")))
	w.fb("doctor")
	if _, err := w.try("undo", "--yes"); err == nil || err.Code == forkbox.NotFound {
		w.mustBeAs(before, "undone")
	}
	w.apply(keep)
	if got := w.read("a"); got != "old\nnew\n" {
		t.Errorf("what a box had before the disk was full landed as %q", got)
	}
}

// storeOn has the store be on a small disk of its own.
func (w *landWorld) storeOn(kind string) {
	w.Helper()
	image := filepath.Join(filepath.Dir(w.home), "image")
	w.ok(os.WriteFile(image, nil, 0o600))
	w.ok(os.Truncate(image, 256<<20))
	w.ok(os.Mkdir(w.home, 0o700))
	for _, args := range [][]string{{"mkfs." + kind, "-q", image}, {"mount", "-o", "loop", image, w.home}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			w.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	w.ok(os.Chmod(w.home, 0o700))
	w.Cleanup(func() {
		_ = os.Remove(filepath.Join(w.home, "filler"))
		_ = w.command(append([]string{"rm", "-f"}, w.boxes...)...).Run()
		w.stop()
		w.boxes = nil
		if err := unix.Unmount(w.home, unix.MNT_DETACH); err != nil {
			w.Error(err)
		}
	})
}

// fillStore leaves nothing of the store's disk. Filesystems that decide late what
// goes where find something more once they have.
func (w *landWorld) fillStore() {
	w.Helper()
	f, err := os.Create(filepath.Join(w.home, "filler"))
	w.ok(err)
	defer f.Close()
	for _, size := range []int{1 << 20, 4096, 4096} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, unix.ENOSPC) {
			w.Fatal(err)
		}
		w.ok(unix.Syncfs(int(f.Fd())))
	}
}

// room is what the store's disk has left.
func (w *landWorld) room() int64 {
	w.Helper()
	var st unix.Statfs_t
	w.ok(unix.Statfs(w.home, &st))
	return int64(st.Bfree) * st.Bsize
}

// ownMountsLimit is how long such a test may take: as long as it likes in its long
// form.
func ownMountsLimit() string {
	if os.Getenv(longServicesVar) != "" {
		return "0"
	}
	return "10m"
}

// inMountsOfItsOwn runs a test in a process with a mount namespace: a process that
// makes one meanwhile, as every box does, would keep a disk alive that is mounted
// in the one they share, and this way nothing is left even if the test is killed.
func inMountsOfItsOwn(t *testing.T, do func(t *testing.T)) {
	t.Helper()
	const here = "FORKBOX_TEST_OWN_MOUNTS"
	if os.Getenv(here) != "" {
		do(t)
		return
	}
	needsRoot(t, "only root can mount a disk")
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run="+pattern, "-test.v", "-test.timeout="+ownMountsLimit())
	cmd.Env = append(os.Environ(), here+"=yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} // Go makes them private
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
