//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

// TestLayersGoWhenNothingNeedsThem forks and removes at random, and kills the
// daemon while it removes. A layer is there as long as a box, a snapshot or a
// template needs it, and no longer; every box has its files.
func TestLayersGoWhenNothingNeedsThem(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(t, 2) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			f := &forest{snapWorld: newSnapWorld(t, "overlay"), rng: rand.New(rand.NewPCG(seed, 4)), files: map[string][]string{}}
			defer func() {
				if t.Failed() {
					t.Logf("repeat with %s==%d; it did %q", seedsVar, seed, f.did)
				}
			}()
			f.grow("")
			for range snapSteps(8) {
				f.round()
			}
		})
	}
}

// forest is boxes that were forked from each other, and the files that each
// must have.
type forest struct {
	*snapWorld
	rng   *rand.Rand
	files map[string][]string
	n     int
	did   []string
}

// grow makes a box, a fork of another unless that is "", with a file more.
func (f *forest) grow(of string) {
	f.Helper()
	f.n++
	name := fmt.Sprint("tree-", f.n)
	f.did = append(f.did, "fork "+of+" "+name)
	if of == "" {
		f.create(name)
	} else {
		_, err := f.Fork(f.Context(), of, forkbox.ForkSpec{Name: name})
		f.ok(err)
	}
	f.sh(name, "echo >"+name)
	f.files[name] = append(append([]string{}, f.files[of]...), name)
}

func (f *forest) any() string {
	for name := range f.files { // the order of a map is not the seed's, which is fine here
		return name
	}
	return ""
}

func (f *forest) round() {
	f.Helper()
	for range 3 {
		f.grow(f.any())
	}
	if f.rng.IntN(2) == 0 {
		_, err := f.CreateTemplate(f.Context(), forkbox.TemplateSpec{Name: fmt.Sprint("t-", f.n), From: f.any()})
		f.ok(err)
	}
	done := make(chan struct{})
	var gone []string
	for name := range f.files {
		if len(gone) < 2 {
			gone = append(gone, name)
		}
	}
	f.did = append(f.did, fmt.Sprint("rm ", gone))
	go func() {
		defer close(done)
		for _, name := range gone {
			f.removeAll(name)
		}
	}()
	time.Sleep(time.Duration(f.rng.Int64N(int64(30 * time.Millisecond)))) // any moment is right
	f.kill()
	<-done
	f.serve()
	f.check()
}

// removeAll removes a box or, for a change, all snapshots of it, and some
// template. The daemon may be killed meanwhile.
func (f *forest) removeAll(name string) {
	if templates, err := f.Templates(f.Context()); err == nil && len(templates) > 1 {
		_ = f.RemoveTemplate(f.Context(), templates[0].Name)
	}
	if len(name)%2 == 0 {
		list, _ := f.Snapshots(f.Context(), name)
		for _, s := range list {
			_ = f.RemoveSnapshot(f.Context(), name+"@"+s.Name, true)
		}
	}
	_ = f.Remove(f.Context(), name, true)
}

func (f *forest) check() {
	f.Helper()
	f.onlyNamedLayers("after a kill")
	boxes, err := f.Boxes(f.Context())
	f.ok(err)
	there := map[string]bool{}
	for _, b := range boxes {
		there[b.Name] = true
	}
	for name, files := range f.files {
		if !there[name] {
			delete(f.files, name)
			continue
		}
		got := f.look(name)
		for _, file := range files {
			if _, ok := got[file]; !ok {
				f.Fatalf("%s has lost %s: it has %v", name, file, got)
			}
		}
		if len(got) != len(files) {
			f.Fatalf("%s has %v, not %q", name, got, files)
		}
	}
	if len(f.files) == 0 {
		f.grow("")
	}
}

// TestForkInACopyingStoreSurvivesAKill: where a fork begins as a copy of a
// layer, the daemon may die when the copy is there and not written down. A
// directory of reality that the parent moved is still whole.
func TestForkInACopyingStoreSurvivesAKill(t *testing.T) {
	t.Parallel()
	w := newSnapWorld(t, "copy")
	w.ok(os.MkdirAll(filepath.Join(w.root, "old", "below"), 0o755))
	w.ok(os.WriteFile(filepath.Join(w.root, "old", "below", "file"), []byte("text"), 0o644))
	w.create("box")
	w.sh("box", "mv old new")
	f, err := w.Fork(w.Context(), "box", forkbox.ForkSpec{Name: "kid"})
	w.ok(err)
	want := w.look("box")
	kid := f.Children[0].Box
	w.kill()
	// What the daemon had got to when it was killed.
	store, err := layers.OpenWith(w.home, "copy")
	w.ok(err)
	w.ok(store.Clone(w.Context(), kid.Layers[0], kid.ID))
	w.serve()
	if diff := want.differs(w.look("kid")); diff != "" {
		t.Errorf("the fork is not as it should be:\n%s", diff)
	}
}
