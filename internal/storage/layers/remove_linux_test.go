package layers

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
)

// wantEmpty fails when anything of a box or of its removal is left.
func wantEmpty(t *testing.T, s *Store) {
	t.Helper()
	for _, dir := range []string{s.boxes(), s.trash()} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v, %v", dir, entries, err)
		}
	}
}

func removeBox(t *testing.T, s *Store, id string) {
	t.Helper()
	if err := s.Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	wantEmpty(t, s)
}

func mkdir(t *testing.T, mode os.FileMode, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRemoveIsIdempotent(t *testing.T) {
	s := open(t)
	create(t, s, "b1")
	removeBox(t, s, "b1")
	removeBox(t, s, "b1")
}

// Overlayfs leaves work/work with mode 000, and a box directories that their
// owner may not write, list or enter.
func TestRemoveWithoutPermission(t *testing.T) {
	s := open(t)
	create(t, s, "b1")
	mkdir(t, 0, s.Work("b1"), "-", "work")
	mkdir(t, 0o500, s.Upper("b1"), "-", "readonly")
	mkdir(t, 0o600, s.Upper("b1"), "-", "noexec")
	mkdir(t, 0o100, s.Upper("b1"), "-", "outer")
	removeBox(t, s, "b1")
}

func TestRemoveDoesNotFollowSymlinks(t *testing.T) {
	s := open(t)
	create(t, s, "b1")
	outside := mkdir(t, 0o755, t.TempDir(), "outside")
	for _, target := range []string{outside, filepath.Join(outside, "f"), "/nowhere"} {
		link := filepath.Join(s.Upper("b1"), filepath.Base(target))
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	removeBox(t, s, "b1")
	if _, err := os.Stat(filepath.Join(outside, "f")); err != nil {
		t.Errorf("what the symlinks lead to: %v", err)
	}
}

func TestRemoveSpecialFiles(t *testing.T) {
	s := open(t)
	create(t, s, "b1")
	for name, mode := range map[string]uint32{"whiteout": unix.S_IFCHR, "fifo": unix.S_IFIFO, "socket": unix.S_IFSOCK} {
		if err := unix.Mknod(filepath.Join(s.Upper("b1"), name), mode, 0); err != nil {
			t.Fatal(err)
		}
	}
	removeBox(t, s, "b1")
}

// A tree that is deeper than PATH_MAX and than the open files of a process.
func TestRemoveDeepTree(t *testing.T) {
	s := open(t)
	create(t, s, "b1")
	dir, err := unix.Open(s.Upper("b1"), unix.O_PATH, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		if err := unix.Mkdirat(dir, "d", 0o700); err != nil {
			t.Fatal(err)
		}
		sub, err := unix.Openat(dir, "d", unix.O_PATH, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(dir)
		dir = sub
	}
	unix.Close(dir)
	removeBox(t, s, "b1")
}

func TestRemoveManyFiles(t *testing.T) {
	s := open(t)
	create(t, s, "b1")
	for i := range 3000 {
		name := filepath.Join(s.Upper("b1"), strings.Repeat("x", 100)+string(rune('a'+i%26))+string(rune(0x4e00+i)))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	removeBox(t, s, "b1")
}

// A removal that was interrupted is finished by Remove and by EmptyTrash.
func TestRemoveAfterInterruption(t *testing.T) {
	s := open(t)
	for _, finish := range []func() error{
		func() error { return s.Remove(t.Context(), "b1") },
		func() error { return s.EmptyTrash(t.Context()) },
	} {
		create(t, s, "b1")
		mkdir(t, 0o700, s.Upper("b1"), "d")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Remove(ctx, "b1"); err == nil {
			t.Fatal("removed under a context that was done")
		}
		if err := finish(); err != nil {
			t.Fatal(err)
		}
		wantEmpty(t, s)
	}
}

// What is mounted in a box's directory is not the box's to delete.
func TestRemoveDoesNotCrossMounts(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	s := open(t)
	create(t, s, "b1")
	outside := mkdir(t, 0o755, t.TempDir(), "outside")
	target := mkdir(t, 0o755, s.Upper("b1"), "mnt")
	inPrivateMounts(t, func() error {
		if err := unix.Mount(outside, target, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		if err := s.Remove(t.Context(), "b1"); forkbox.CodeOf(err) != forkbox.Busy {
			t.Errorf("Remove = %v, want Busy", err)
		}
		return nil
	})
	if _, err := os.Stat(filepath.Join(outside, "f")); err != nil {
		t.Errorf("what was mounted: %v", err)
	}
	removeBox(t, s, "b1")
}

// inPrivateMounts runs fn in a mount namespace that ends with it.
func inPrivateMounts(t *testing.T, fn func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread must not be reused
		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = fn()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func removal(t *testing.T, p place) {
	s := p.open(t)
	mkdir(t, 0, newBox(t, s, "b"), "d")
	_, err := s.Save(t.Context(), "b", "L", true)
	must(t, err)
	must(t, s.Create(t.Context(), "child"))
	must(t, s.Clone(t.Context(), "L", "child"))
	for range 2 {
		must(t, s.DropTop(t.Context(), "child"))
		must(t, s.RemoveLayer(t.Context(), "L"))
		must(t, s.Remove(t.Context(), "b"))
		must(t, s.DropTop(t.Context(), "b"))
	}
	if !exists(s.Dir("child")) || exists(s.Top("child")) || s.HasLayer("L") {
		t.Error("DropTop removes the top, and RemoveLayer the layer")
	}
	must(t, s.Remove(t.Context(), "child"))
	wantEmpty(t, s)
	if names := readNames(t, s.layers()); len(names) > 0 {
		t.Errorf("layers are left: %q", names)
	}
}

// binOfBox: what is in an upper directory can be renamed into the bin.
func binOfBox(t *testing.T, p place) {
	s := p.open(t)
	upper := newBox(t, s, "b")
	mkdir(t, 0o700, upper, "d")
	bin, err := s.BinOf("b")
	must(t, err)
	must(t, os.Rename(filepath.Join(upper, "d"), filepath.Join(bin, "d")))
	must(t, s.EmptyTrash(t.Context())) // another task's
	if !exists(filepath.Join(bin, "d")) {
		t.Error("what a box has in its bin goes with what others threw away")
	}
	_, err = s.Save(t.Context(), "b", "L", false)
	must(t, err)
	if exists(filepath.Join(s.layer("L"), "bin")) {
		t.Error("the layer has the bin")
	}
	must(t, s.EmptyBin(t.Context(), "b"))
	if exists(filepath.Join(bin, "d")) {
		t.Error("the bin is not empty")
	}
	wantWhole(t, s)
}
