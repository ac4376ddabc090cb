package land

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// ownedWorld is one where root lands for a user, who owns /home and no more.
func ownedWorld(t *testing.T) *world {
	needRoot(t, "acts for another user")
	w := newWorld(t, quickDir(t))
	w.must(os.Chmod(w.store, 0o700))
	w.owner = &forkbox.Owner{UID: 12345, GID: 23456, Groups: []int{34567}}
	w.write("/etc/conf", "root's")
	for _, p := range []string{"/home", "/home/group"} {
		w.must(os.MkdirAll(w.at(p), 0o755))
	}
	w.write("/home/mine", "old")
	w.write("/home/theirs", "root's file")
	w.must(os.Chown(w.at("/home"), 12345, 23456))
	w.must(os.Chown(w.at("/home/mine"), 12345, 23456))
	w.must(os.Chown(w.at("/home/group"), 0, 34567))
	w.must(os.Chmod(w.at("/home/group"), 0o775))
	return w
}

// TestOwnerLandsInHisOwn: as himself, with his groups, and undoes it.
func TestOwnerLandsInHisOwn(t *testing.T) {
	w := ownedWorld(t)
	before := w.snap()
	source := w.store + "/secret"
	w.must(os.WriteFile(source, []byte("from the store"), 0o600))
	it := w.put("/home/new", "")
	it.Bytes, it.Content = nil, openFile(source)
	w.must(w.land(w.putDir("/home/dir", 0o555), w.put("/home/dir/x", "x"), w.put("/home/group/g", "by group"), w.put("/home/mine", "new"), it, w.put("/home/theirs", "replaced")))
	for _, p := range []string{"/home/dir", "/home/dir/x", "/home/group/g", "/home/mine", "/home/new", "/home/theirs"} {
		if got := w.snap()[p]; !strings.Contains(got, " 12345:23456 ") {
			t.Errorf("%s is %s", p, got)
		}
	}
	if w.read("/home/new") != "from the store" {
		t.Error(w.read("/home/new"))
	}
	w.must(w.undo())
	w.must(os.Remove(source))
	w.same("undone", before)
}

// TestPromise1OwnerMayNotMore: nothing lands where the user may not write,
// whatever root may.
func TestPromise1OwnerMayNotMore(t *testing.T) {
	w := ownedWorld(t)
	before := w.snap()
	attr := func(p string, mode fs.FileMode) Item {
		it := w.chmod(p, mode)
		it.KeepOwner = true
		return it
	}
	for _, it := range []Item{
		w.put("/etc/conf", "mine now"), w.put("/etc/new", "x"), w.remove("/etc/conf"), attr("/etc/conf", 0o666),
		w.remove("/etc"), w.move("/etc", "/home/etc"), attr("/home/theirs", 0o666), w.putDir("/dir", 0o755),
	} {
		err := w.land(w.put("/home/a", "lands first"), it)
		if forkbox.CodeOf(err) != forkbox.Denied && forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("%s %s: %v", it.Op, it.Path, err)
		}
		w.same(it.Path, before)
		w.noTrace(it.Path)
	}
}

// TestActorIsOnlyTheUser: no capability is left on the thread, and none is
// lost elsewhere.
func TestActorIsOnlyTheUser(t *testing.T) {
	needRoot(t, "acts for another user")
	a, err := files.ActAs(&forkbox.Owner{UID: 12345, GID: 23456})
	if err != nil {
		t.Fatal(err)
	}
	err = a.Do(func() error {
		status, err := os.ReadFile("/proc/thread-self/status")
		for _, want := range []string{"CapEff:\t0000000000000000", "Groups:\t23456 "} {
			if !strings.Contains(string(status), want) {
				t.Errorf("%s is not in %s", want, status)
			}
		}
		if unix.Faccessat(unix.AT_FDCWD, "/", unix.W_OK, unix.AT_EACCESS) == nil {
			t.Error("it may write in /")
		}
		return err
	})
	a.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if f, err := os.CreateTemp("/", "land-test-"); err != nil {
		t.Error("root lost its rights: ", err)
	} else {
		f.Close()
		os.Remove(f.Name())
	}
}

// TestUnprivilegedCannotActForOthers.
func TestUnprivilegedCannotActForOthers(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may")
	}
	w := newWorld(t, t.TempDir())
	w.owner = &forkbox.Owner{UID: os.Geteuid() + 1}
	_, err := Begin(t.Context(), w.cfg())
	wantCode(t, err, forkbox.Denied)
}

// TestDeniedLeavesNoTrace: a user's own read-only directory refuses him.
func TestDeniedLeavesNoTrace(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("nothing is denied to root")
	}
	w := newWorld(t, t.TempDir())
	w.write("/ro/x", "old")
	w.must(os.Chmod(w.at("/ro"), 0o555))
	t.Cleanup(func() { os.Chmod(w.at("/ro"), 0o755) })
	before := w.snap()
	wantCode(t, w.land(w.put("/a", "new"), w.put("/ro/x", "new")), forkbox.Denied)
	w.same("denied", before)
	w.noTrace("denied")
}
