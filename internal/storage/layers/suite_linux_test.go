package layers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// newBox makes a box with an upper directory for / and what overlayfs leaves.
func newBox(t tester, s *Store, id string) (upper string) {
	t.Helper()
	must(t, s.Create(context.Background(), id))
	upper, _, err := s.NewUpper(id, "/")
	must(t, err)
	work, err := s.FreshWork(context.Background(), id, "/")
	must(t, err)
	must(t, os.Mkdir(filepath.Join(work, "work"), 0))
	return upper
}

func write(t tester, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// withoutNotes leaves out what the store notes in a top or a layer.
func withoutNotes(names []string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return n == originName || n == tookName })
}

// wantWhole fails when something is half-made or in the trash.
func wantWhole(t tester, s *Store) {
	t.Helper()
	wantSwept(t, s)
	for _, id := range readNames(t, s.boxes()) {
		if exists(filepath.Join(s.Dir(id), draftPrefix+"top")) {
			t.Errorf("half a top is left in box %s", id)
		}
	}
}

// wantSwept is what EmptyTrash sees to: half a top goes with the next Clone,
// or with its box.
func wantSwept(t tester, s *Store) {
	t.Helper()
	for _, dir := range []string{s.layers(), s.roots()} {
		for _, name := range readNames(t, dir) {
			if strings.HasPrefix(name, ".") {
				t.Errorf("%s is left in %s", name, dir)
			}
		}
	}
	if names := readNames(t, s.trash()); len(names) > 0 {
		t.Errorf("the trash has %q", names)
	}
}

// faithful saves random boxes, idle and busy, and begins other boxes with the
// layers: all have the same tree.
func faithful(t *testing.T, p place) {
	s := p.open(t)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		box, layer, child := fmt.Sprintf("box-%d", n), fmt.Sprintf("layer-%d", n), fmt.Sprintf("child-%d", n)
		grow(r, newBox(r, s, box))
		before := fingerprint(r, s.Upper(box))
		// An unprivileged store cannot read everything of a busy box.
		still := os.Geteuid() != 0 || rapid.Bool().Draw(r, "still")
		moved, err := s.Save(context.Background(), box, layer, still)
		must(r, err)
		if want := still && s.Stacks(); moved != want || exists(s.Top(box)) == moved {
			r.Fatalf("still %v: moved %v, a top is left: %v", still, moved, exists(s.Top(box)))
		}
		if !moved {
			sameTree(r, "the box", before, fingerprint(r, s.Upper(box)))
		}
		sameTree(r, "the layer", before, fingerprint(r, s.Layer(layer)))
		must(r, s.Create(context.Background(), child))
		must(r, s.Clone(context.Background(), layer, child))
		sameTree(r, "the child", before, fingerprint(r, s.Upper(child)))
		sameTree(r, "the layer after that", before, fingerprint(r, s.Layer(layer)))
		for _, dir := range []string{s.layer(layer), s.Top(child)} {
			if names := withoutNotes(readNames(r, dir)); !slices.Equal(names, []string{"upper"}) {
				r.Fatalf("%s has %q", dir, names)
			}
		}
		must(r, s.Remove(context.Background(), box))
		must(r, s.Remove(context.Background(), child))
		must(r, s.RemoveLayer(context.Background(), layer))
		wantWhole(r, s)
	})
}

// layersDoNotChange: neither by the box they were made of, nor by those that
// began with them.
func layersDoNotChange(t *testing.T, p place) {
	s := p.open(t)
	upper := newBox(t, s, "b")
	big := strings.Repeat("x", 300<<10)
	write(t, filepath.Join(upper, "f"), big)
	must(t, os.Link(filepath.Join(upper, "f"), filepath.Join(upper, "g")))
	_, err := s.Save(t.Context(), "b", "L", false)
	must(t, err)
	want := fingerprint(t, s.Layer("L"))
	must(t, s.Create(t.Context(), "child"))
	must(t, s.Clone(t.Context(), "L", "child"))
	for _, id := range []string{"b", "child"} {
		f, err := os.OpenFile(filepath.Join(s.Upper(id), "-", "f"), os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteAt([]byte("written"), 100<<10)
		must(t, err)
		must(t, f.Chmod(0o644))
		must(t, f.Close())
		must(t, os.Remove(filepath.Join(s.Upper(id), "-", "g")))
		write(t, filepath.Join(s.Upper(id), "-", "new"), "new")
		if text, err := os.ReadFile(filepath.Join(s.Upper(id), "-", "f")); err != nil || !strings.Contains(string(text), "written") {
			t.Errorf("what was written to %s is not there: %v", id, err)
		}
	}
	sameTree(t, "the layer", want, fingerprint(t, s.Layer("L")))
	must(t, s.DropTop(t.Context(), "child"))
	must(t, s.Remove(t.Context(), "b"))
	sameTree(t, "the layer without its boxes", want, fingerprint(t, s.Layer("L")))
}

// BenchmarkSave shows that the snapshot of an idle box costs the same whatever
// it has written, and what that of a busy one costs.
func BenchmarkSave(b *testing.B) {
	for _, still := range []bool{true, false} {
		for _, files := range []int{10, 1000} {
			b.Run(fmt.Sprintf("still=%v/files=%d", still, files), func(b *testing.B) { benchmarkSave(b, files, still) })
		}
	}
}

func benchmarkSave(b *testing.B, files int, still bool) {
	s := place{b.TempDir(), "overlay"}.open(b)
	upper := newBox(b, s, "b")
	for i := range files {
		dir := filepath.Join(upper, fmt.Sprint(i/100))
		must(b, os.MkdirAll(dir, 0o755))
		write(b, filepath.Join(dir, fmt.Sprint(i)), "some text")
	}
	layer := 0
	for b.Loop() {
		layer++
		id := fmt.Sprint("L", layer)
		_, err := s.Save(context.Background(), "b", id, still)
		must(b, err)
		b.StopTimer()
		if still { // back, for the next
			must(b, rename(s.layer(id), s.Top("b")))
		} else {
			must(b, s.RemoveLayer(context.Background(), id))
		}
		b.StartTimer()
	}
	must(b, s.Remove(context.Background(), "b"))
}
