//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// projectDirs are directories on filesystems with project quotas, where the
// machine has such.
func projectDirs() []string {
	return strings.FieldsFunc(os.Getenv("FORKBOX_TEST_PRJQUOTA_DIRS"), func(r rune) bool { return r == ':' })
}

// eachDisk runs a test on every kind of store here that enforces limits of
// disk: a pool, which only root can make, and filesystems with quotas.
func eachDisk(t *testing.T, test func(w *limitWorld)) {
	onPool(t, test)
	onQuotas(t, test)
}

// eitherDisk is eachDisk, but for the pool where there are quotas: machines that
// have them are emulated and slow.
func eitherDisk(t *testing.T, test func(w *limitWorld)) {
	if len(projectDirs()) == 0 {
		onPool(t, test)
	}
	onQuotas(t, test)
}

func onPool(t *testing.T, test func(w *limitWorld)) {
	needsPool(t)
	t.Run("pool", func(t *testing.T) {
		t.Parallel()
		test(newPoolWorld(t, calm))
	})
}

func onQuotas(t *testing.T, test func(w *limitWorld)) {
	for _, dir := range projectDirs() {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			w := newLimitWorldIn(t, dir, calm)
			w.needs(forkbox.Disk)
			test(w)
		})
	}
}

// needsPool skips where none can be made.
func needsPool(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make a pool")
	}
	if _, err := exec.LookPath("mkfs.btrfs"); err != nil {
		t.Skip("there is no mkfs.btrfs")
	}
}

// newPoolWorld keeps its boxes in a pool.
func newPoolWorld(t *testing.T, config string) *limitWorld {
	t.Helper()
	needsPool(t)
	w := newLimitWorld(t, config)
	store, err := w.InitStore(t.Context(), 1<<30)
	w.ok(err)
	if store.Pool == nil || store.Disk.How != forkbox.Enforced {
		t.Fatalf("the pool came out so: %+v", store)
	}
	w.next()
	return w
}

// next waits for the end of a daemon that makes room for the next.
func (w *limitWorld) next() {
	w.Helper()
	_ = w.daemon.Wait()
	w.Client.Close()
	w.serve()
}
