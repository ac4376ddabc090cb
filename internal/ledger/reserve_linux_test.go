package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/ledger/ledgertest"
)

// TestFullDiskCanBeFreed: with not a byte left, what takes the space can be
// removed, and a daemon can begin.
func TestFullDiskCanBeFreed(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("fbtest", dir, "tmpfs", 0, "size=48m"); err != nil {
		t.Skipf("it takes a filesystem of its own: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	path := filepath.Join(dir, "ledger.db")
	l := opened(t, path)
	var boxes []forkbox.Box
	for n := range 100 {
		boxes = append(boxes, ledgertest.Box(fmt.Sprintf("%012x", n), fmt.Sprint("box-", n), 1))
		noError(t, l.AddBox(t.Context(), boxes[n]))
	}
	fillDisk(t, dir)
	for _, b := range boxes[:50] {
		goes(t, l, b)
	}
	noError(t, l.Close())
	l = opened(t, path)
	for _, b := range boxes[50:] {
		goes(t, l, b)
	}
	noError(t, l.Close())
	l = opened(t, path)
	defer l.Close()
	if left, err := l.Boxes(t.Context(), nil); err != nil || len(left) > 0 {
		t.Errorf("%d boxes are left, error %v", len(left), err)
	}
}

// goes is what is written of a box that is removed.
func goes(t *testing.T, l *SQLite, b forkbox.Box) {
	t.Helper()
	b.State = forkbox.Removing
	noError(t, l.UpdateBox(t.Context(), b))
	noError(t, l.DeleteBox(t.Context(), b.ID))
}

// fillDisk leaves nothing. Filesystems that decide late what goes where find
// something more once they have.
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "filler"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	noError(t, err)
	defer f.Close()
	for _, size := range []int{1 << 20, 4096, 4096} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		settle(f.Name())
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLogOfAClosedLedgerSaysNothing: it stays for its room; a backup that is put
// in the ledger's place is not mixed with it.
func TestLogOfAClosedLedgerSaysNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := opened(t, path)
	noError(t, l.AddBox(t.Context(), ledgertest.Box("aaaaaaaaaaaa", "one", 1)))
	noError(t, l.Close())
	backup, err := os.ReadFile(path)
	noError(t, err)
	l = opened(t, path)
	for n := range 200 {
		noError(t, l.AddBox(t.Context(), ledgertest.Box(fmt.Sprintf("%012x", n), fmt.Sprint("box-", n), 1)))
	}
	noError(t, l.Close())
	noError(t, os.WriteFile(path, backup, 0o600))
	l = opened(t, path)
	defer l.Close()
	list, err := l.Boxes(t.Context(), nil)
	if err != nil || len(list) != 1 {
		t.Fatalf("the backup has %d boxes, error %v", len(list), err)
	}
	var sound string
	if err := l.read.QueryRow("PRAGMA integrity_check").Scan(&sound); err != nil || sound != "ok" {
		t.Errorf("it is %q, error %v", sound, err)
	}
}
