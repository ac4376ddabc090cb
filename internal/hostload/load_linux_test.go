package hostload

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// TestThisHost reads the host that the test runs on.
func TestThisHost(t *testing.T) {
	load, err := Read(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if load.MemTotal <= 0 || load.MemAvailable <= 0 || load.MemAvailable > load.MemTotal {
		t.Errorf("%d bytes of memory of %d", load.MemAvailable, load.MemTotal)
	}
	if load.DiskTotal <= 0 || load.DiskFree <= 0 || load.DiskFree > load.DiskTotal || load.InodesFree > load.InodesTotal {
		t.Errorf("disk: %+v", load)
	}
	if load.CPUs != runtime.NumCPU() {
		t.Errorf("%d processors", load.CPUs)
	}
	_, err = os.ReadFile("/proc/pressure/memory")
	if _, has := load.Pressure["memory"]; has != (err == nil) {
		t.Errorf("pressure %v, and the kernel's file: %v", load.Pressure, err)
	}
}

func TestNoSuchStore(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	if load, err := Read(missing); !errors.Is(err, os.ErrNotExist) || forkbox.CodeOf(err) != forkbox.Internal {
		t.Errorf("%+v, %v", load, err)
	}
}

// TestCache: a burst asks the kernel once; another store, a later moment and a
// clock that was set back ask again; a failure is not remembered.
func TestCache(t *testing.T) {
	looks, fail, now := 0, false, time.Unix(1000, 0)
	c := cache{now: func() time.Time { return now }, look: func(string) (Load, error) {
		if looks++; fail {
			return Load{}, os.ErrClosed
		}
		return Load{CPUs: looks, Pressure: map[string]forkbox.Pressure{"cpu": {}}}, nil
	}}
	ask := func(path string, want int) {
		t.Helper()
		load, err := c.read(path)
		if err != nil || load.CPUs != want || len(load.Pressure) != 1 {
			t.Fatalf("answer %d, %v, want %d", load.CPUs, err, want)
		}
		clear(load.Pressure) // the answer is the caller's own
	}
	ask("/a", 1)
	ask("/a", 1)
	ask("/b", 2)
	now = now.Add(fresh)
	ask("/b", 3)
	now = now.Add(-time.Hour)
	ask("/b", 4)
	fail, now = true, now.Add(fresh)
	if _, err := c.read("/b"); err == nil {
		t.Fatal("a failure was hidden")
	}
	fail = false
	ask("/b", 6)
}

func BenchmarkLook(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		if _, err := look(dir); err != nil {
			b.Fatal(err)
		}
	}
}
