//go:build linux

package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// needsRoot skips what an unprivileged user cannot set up.
func needsRoot(t *testing.T, why string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: " + why)
	}
}

// TestBadInputChangesNothing: a request that makes no sense gets the code that
// says so, and reality stays as it is.
func TestBadInputChangesNothing(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.write("text", strings.Repeat("line\n", 50))
	w.write("binary", "\x00\x01")
	w.write("same", "same\n")
	box := w.fork("box")
	w.in(box, "sh", "-c", `sed -i '2s/line/changed/;40s/line/changed/' text; printf '\000\002' > binary; mkdir dir; echo x > "dir/a:1"`)

	cases := []struct {
		code forkbox.Code
		args []string
	}{
		{forkbox.NotFound, []string{box, "nothing/here"}},
		{forkbox.NotFound, []string{box, "same"}},
		{forkbox.NotFound, []string{box, "text", "same"}},
		{forkbox.NotFound, []string{"no-such-box"}},
		{forkbox.Invalid, []string{"--hunks", "text:3", box}},
		{forkbox.Invalid, []string{"--hunks", "text:0", box}},
		{forkbox.Invalid, []string{"--hunks", "text:1,9", box}},
		{forkbox.Invalid, []string{"--hunks", "text:-1", box}},
		{forkbox.Invalid, []string{"--hunks", "text:", box}},
		{forkbox.Invalid, []string{"--hunks", "text:x", box}},
		{forkbox.Invalid, []string{"--hunks", "text:2-1", box}},
		{forkbox.Invalid, []string{"--hunks", "text:99999999999999999999", box}},
		{forkbox.Invalid, []string{"--hunks", "text", box}},
		{forkbox.Invalid, []string{"--hunks", ":1", box}},
		{forkbox.Invalid, []string{"--hunks", "binary:1", box}},
		{forkbox.Invalid, []string{"--hunks", "dir:1", box}},
		{forkbox.NotFound, []string{"--hunks", "same:1", box}},
		{forkbox.NotFound, []string{"--hunks", "absent:1", box}},
		{forkbox.Invalid, []string{"--conflict", "mine", box}},
		{forkbox.Invalid, []string{"--commit", box}},
		{forkbox.Conflict, []string{"--reviewed", "sha256:00", box}},
		{forkbox.Conflict, []string{"--reviewed", "nonsense", box}},
	}
	for _, c := range cases {
		w.refused(c.code, append([]string{"apply", "--yes"}, c.args...)...)
	}
	w.refused(forkbox.NotFound, "undo", "--yes")
	w.refused(forkbox.NotFound, "undo", "no-such-receipt")
	if states := w.states(); len(states) > 0 {
		t.Errorf("refused applies left receipts: %v", states)
	}
	before, want := w.reality(), w.boxTree(box)
	w.apply(box)
	if diff := landed(w.reality(), want, before); diff != "" {
		t.Errorf("after all that was refused, the apply is not right\n%s", diff)
	}
	w.fb("undo", "--yes")
	w.refused(forkbox.NotFound, "undo", "--yes")
	w.fb("rm", "-f", box)
	w.refused(forkbox.NotFound, "apply", "--yes", box)
}

// TestUnwritableDirectoryChangesNothing: what the caller may not write to is
// refused before or while it lands, and then nothing has.
func TestUnwritableDirectoryChangesNothing(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere: this is for the unprivileged user")
	}
	w := newLandWorld(t)
	w.write("a/file", "old\n")
	w.write("locked/file", "old\n")
	w.write("z/file", "old\n")
	box := w.fork("box")
	w.in(box, "sh", "-c", "for f in a locked z; do echo new > $f/new; echo new > $f/file; done")
	w.ok(os.Chmod(filepath.Join(w.ws, "locked"), 0o555))
	defer os.Chmod(filepath.Join(w.ws, "locked"), 0o755)
	w.refused(forkbox.Denied, "apply", "--yes", "--all", "--conflict", "theirs", box)
	w.ok(os.Chmod(filepath.Join(w.ws, "locked"), 0o755))
	w.apply(box, "--all", "--conflict", "theirs")
	if got := w.read("locked/file"); got != "new\n" {
		t.Errorf("after it was unlocked: %q", got)
	}
}

// TestImmutableFileChangesNothing: a file that not even root may replace stops
// the whole apply, although others had been replaced by then.
func TestImmutableFileChangesNothing(t *testing.T) {
	t.Parallel()
	needsRoot(t, "only root can make a file immutable")
	w := newLandWorld(t)
	for _, name := range []string{"a", "b/file", "z"} {
		w.write(name, "old\n")
	}
	box := w.fork("box")
	w.in(box, "sh", "-c", "echo new > a; echo new > b/file; echo new > z; mkdir c; echo new > c/new")
	locked := filepath.Join(w.ws, "b/file")
	setImmutable(t, locked, true)
	defer setImmutable(t, locked, false)
	w.refused(forkbox.Denied, "apply", "--yes", "--all", "--conflict", "theirs", box)
	setImmutable(t, locked, false)
	before, want := w.reality(), w.boxTree(box)
	w.apply(box, "--all", "--conflict", "theirs")
	if diff := landed(w.reality(), want, before); diff != "" {
		t.Errorf("after it was unlocked\n%s", diff)
	}
}

func setImmutable(t *testing.T, path string, on bool) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const immutable = 0x10
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		t.Skip("the filesystem has no immutable files: ", err)
	}
	if flags &^= immutable; on {
		flags |= immutable
	}
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags)); err != nil {
		t.Fatal(err)
	}
}

// tinyDisk mounts a small filesystem on a directory. Tests that do so are not
// parallel: the boxes of other tests see the mount come and go.
func tinyDisk(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// TestFullDiskChangesNothing: the disk of the workspace has no room for what
// the box wrote.
func TestFullDiskChangesNothing(t *testing.T) {
	needsRoot(t, "only root can mount a small disk")
	w := newLandWorld(t)
	tinyDisk(t, filepath.Join(w.ws, "disk"), "1m")
	w.write("a", "old\n")
	w.write("disk/file", "old\n")
	w.write("disk/gone", "old\n")
	box := w.fork("box")
	w.in(box, "sh", "-c", "echo new > a; echo new > disk/file; rm disk/gone; head -c 3000000 /dev/urandom > disk/large")
	err := w.refused(forkbox.Internal, "apply", "--yes", "--all", box)
	if !strings.Contains(err.Error(), "no space left") {
		t.Errorf("it does not say that the disk is full: %v", err)
	}
	w.in(box, "sh", "-c", "head -c 1000 /dev/urandom > disk/large")
	before, want := w.reality(), w.boxTree(box)
	id := w.apply(box, "--all")
	if diff := differences(w.reality().without(id), want, nil); diff != "" {
		t.Errorf("what fits did not land\n%s", diff)
	}
	w.fb("undo", id)
	if diff := restored(w.reality().without(id), before); diff != "" {
		t.Errorf("the undo on two filesystems\n%s", diff)
	}
}

// without leaves out what a receipt keeps in a tree: on a disk that the store
// is not on, old bytes cannot be renamed into the store.
func (t tree) without(receipt string) tree {
	maps.DeleteFunc(t, func(path string, _ seen) bool { return strings.Contains(path+"/", "/.forkbox-"+receipt+"/") })
	return t
}

// TestFullStoreChangesNothing: the disk that forkbox keeps its records on is
// full. An apply that cannot be recorded does not happen.
func TestFullStoreChangesNothing(t *testing.T) {
	needsRoot(t, "only root can mount a small disk")
	w := newLandWorld(t)
	w.ok(os.Mkdir(w.home, 0o700))
	tinyDisk(t, w.home, "8m")
	for _, name := range []string{"a", "b", "c"} {
		w.write(name, "old\n")
	}
	box := w.fork("box")
	w.in(box, "sh", "-c", "for f in a b c; do echo new > $f; done; for i in $(seq 300); do echo $i > new$i; done")
	before, want := w.reality(), w.boxTree(box)
	filler := filepath.Join(w.home, "filler")
	_ = exec.Command("dd", "if=/dev/zero", "of="+filler, "bs=4k").Run() // until nothing fits
	refusals, last := 0, (*forkbox.Error)(nil)
	const more = 64 << 10   // than the ledger grows by each time
	for step := range 200 { // until it fits
		id, refused := w.tryApply(box)
		if refused == nil {
			w.mustHave(want, before, "with some room")
			if _, refused := w.try("undo", id); refused != nil { // it needs room, too
				w.ok(os.Truncate(filler, 0))
				w.fb("undo", id)
			}
			w.mustBeAs(before, "undone with some room")
			break
		} else if diff := restored(w.reality(), before); diff != "" {
			t.Fatalf("with %d bytes of room: refused with %v, and reality changed\n%s", step*more, refused, diff)
		} else {
			refusals++
			last = refused
		}
		info, err := os.Stat(filler)
		w.ok(err)
		w.ok(os.Truncate(filler, max(0, info.Size()-more)))
	}
	if refusals == 0 {
		t.Error("applies were recorded on a full disk")
	}
	t.Logf("refused %d times, the last time with: %v", refusals, last)
	w.ok(os.Remove(filler))
	w.apply(box, "--all", "--conflict", "theirs")
	w.mustHave(want, before, "once there was room again")
}

func (w *landWorld) tryApply(box string) (id string, refused *forkbox.Error) {
	w.Helper()
	return w.applied("apply", "--yes", "--all", "--conflict", "theirs", box)
}

// mustHave says that reality is what the box was.
func (w *landWorld) mustHave(box, before tree, when string) {
	w.Helper()
	if diff := landed(w.reality(), box, before); diff != "" {
		w.Fatalf("%s: reality is not as the box\n%s", when, diff)
	}
}
