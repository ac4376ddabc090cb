//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/providertest"
)

// TestPromise7AtRestNothing: two hundred boxes at rest, half of which have run,
// are files and nothing else, and hardly any.
func TestPromise7AtRestNothing(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	const boxes = 200
	for i := range boxes {
		box := l.Box()
		if i%20 == 0 {
			inst, err := p.Start(context.Background(), box)
			must(t, err)
			must(t, inst.Stop(context.Background(), 0))
		}
	}
	dropSpare(t, p)
	nothingRuns(t, p.home)
	if each := diskUse(t, p.home) / boxes; each > 64<<10 {
		t.Errorf("a box in which nothing was done takes %d bytes", each)
	}
}

func diskUse(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			return nil // overlayfs leaves empty directories that only root may enter; others are just being removed
		}
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	}))
	return bytes
}

// TestPromise9StartDependsOnNothing: a start takes the same steps, and reads
// none of the directories, of a base with ten and with ten thousand files.
// (Time is for the benchmarks.)
func TestPromise9StartDependsOnNothing(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	small, large := manyFiles(t, 10), manyFiles(t, 10_000)
	reads := readsDirectories(t)
	// Sockets of the host come and go meanwhile, and each is a step.
	providertest.Eventually(t, "the same number of steps", func() bool {
		return stepsFor(t, p, l, small) == stepsFor(t, p, l, large)
	})
	box := l.Box(func(b *forkbox.Box) { b.Dir = large })
	r := l.Start(box)
	r.Sh("echo x >" + large + "/0/new")
	must(t, r.Instance.Stop(context.Background(), 0))
	must(t, p.Changes(context.Background(), box, func(forkbox.Change, forkbox.Sides) error { return nil }))
	for i := 1; i < 10_000/100; i++ { // 0 is where the change is
		if dir := fmt.Sprint(large, "/", i); wasRead(t, dir) && reads {
			t.Fatalf("%s was read", dir)
		}
	}
}

func stepsFor(t *testing.T, p *Provider, l *providertest.Lab, dir string) int {
	t.Helper()
	plan := planFor(t, p, l.Box(func(b *forkbox.Box) { b.Dir = dir }))
	return reflect.ValueOf(plan.script()).Elem().FieldByName("steps").Len()
}

// long is the time at which directories were last read, before the test.
var long = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// manyFiles makes n files, a hundred in a directory.
func manyFiles(t *testing.T, n int) string {
	t.Helper()
	base := providertest.Tree(t, nil)
	for i := range n {
		dir := fmt.Sprint(base, "/", i/100)
		if i%100 == 0 {
			must(t, os.Mkdir(dir, 0o755))
		}
		f, err := os.Create(fmt.Sprint(dir, "/", i))
		must(t, err)
		f.Close()
	}
	dirs, _ := filepath.Glob(base + "/*")
	for _, dir := range dirs {
		must(t, os.Chtimes(dir, long, time.Now()))
	}
	return base
}

// readsDirectories says whether the filesystem tells when a directory is read
// (it is not mounted noatime).
func readsDirectories(t *testing.T) bool {
	t.Helper()
	dir := manyFiles(t, 1) + "/0"
	if wasRead(t, dir) {
		t.Fatal("the test is blind")
	}
	_, err := os.ReadDir(dir)
	must(t, err)
	return wasRead(t, dir)
}

func wasRead(t *testing.T, dir string) bool {
	t.Helper()
	info, err := os.Stat(dir)
	must(t, err)
	st := info.Sys().(*syscall.Stat_t)
	return st.Atim.Sec != long.Unix()
}
