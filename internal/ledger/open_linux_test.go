package ledger

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/ledger/ledgertest"
)

// TestOpenSaysWhyItCannotWrite: a ledger that another program has locked, or
// that cannot be written, is refused with what to do, and is unharmed.
func TestOpenSaysWhyItCannotWrite(t *testing.T) {
	patience = 10 * time.Millisecond
	t.Cleanup(func() { patience = 5 * time.Second })
	for _, c := range []struct {
		name, words string
		hinder      func(t *testing.T, path string) (release func())
	}{
		{"locked", "another program has it open", lock},
		{"read-only", "writable by you", readOnly},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(mounted(t), "ledger.db")
			l := opened(t, path)
			if err := l.AddBox(t.Context(), ledgertest.Box("aaaaaaaaaaaa", "one", 1)); err != nil {
				t.Fatal(err)
			}
			l.Close()
			release := c.hinder(t, path)
			_, err := Open(t.Context(), path)
			release()
			var e *forkbox.Error
			if !errors.As(err, &e) || !strings.Contains(strings.Join(e.Hints, " "), c.words) {
				t.Fatalf("got %v with the hints %v, want %q", err, e, c.words)
			}
			l = opened(t, path)
			defer l.Close()
			if _, err := l.Box(t.Context(), "aaaaaaaaaaaa"); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// mounted is a directory: for root, who may write wherever modes forbid it, on
// a filesystem of its own.
func mounted(t *testing.T) string {
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		return dir
	}
	if err := syscall.Mount("fbtest", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func readOnly(t *testing.T, path string) (release func()) {
	if os.Geteuid() != 0 {
		if err := os.Chmod(path, 0o400); err != nil {
			t.Fatal(err)
		}
		return func() { os.Chmod(path, 0o600) }
	}
	dir := filepath.Dir(path)
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	return func() { syscall.Mount("", dir, "", syscall.MS_REMOUNT, "") }
}

func lock(t *testing.T, path string) (release func()) {
	db, err := sql.Open("sqlite", source(path, false))
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin() // immediate: it writes
	if err != nil {
		t.Fatal(err)
	}
	return func() { tx.Rollback(); db.Close() }
}
