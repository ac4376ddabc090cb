package layers

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
)

func saveAgain(t *testing.T, p place) {
	s := p.open(t)
	for _, still := range []bool{true, false} {
		id, layer := fmt.Sprintf("b%v", still), fmt.Sprintf("L%v", still)
		write(t, filepath.Join(newBox(t, s, id), "f"), "as saved")
		first, err := s.Save(t.Context(), id, layer, still)
		must(t, err)
		want := fingerprint(t, s.Layer(layer))
		for _, again := range []bool{still, true, false} {
			moved, err := s.Save(t.Context(), id, layer, again)
			if err != nil || moved != first {
				t.Errorf("still %v, then %v: moved %v, %v; at first %v", still, again, moved, err, first)
			}
		}
		sameTree(t, "the layer", want, fingerprint(t, s.Layer(layer)))
	}
	if layers, err := s.Layers(); err != nil || !slices.Equal(layers, []string{"Lfalse", "Ltrue"}) {
		t.Errorf("Layers = %q, %v", layers, err)
	}
}

// A box that was never started has no top.
func saveNothing(t *testing.T, p place) {
	s := p.open(t)
	for _, still := range []bool{true, false} {
		id, layer := fmt.Sprintf("b%v", still), fmt.Sprintf("L%v", still)
		must(t, s.Create(t.Context(), id))
		if moved, err := s.Save(t.Context(), id, layer, still); err != nil || moved != s.Stacks() {
			t.Errorf("moved %v, %v", moved, err)
		}
		if uppers, err := s.LayerUppers(layer); err != nil || len(uppers) > 0 {
			t.Errorf("the layer has %v, %v", uppers, err)
		}
		child := "child-" + id
		must(t, s.Create(t.Context(), child))
		must(t, s.Clone(t.Context(), layer, child))
		if _, made, err := s.NewUpper(child, "/"); err != nil || !made {
			t.Errorf("the child's upper: made %v, %v", made, err)
		}
	}
	must(t, s.DropTop(t.Context(), "btrue"))
	saveWorkOnly(t, s)
	wantWhole(t, s)
}

// saveWorkOnly: a start that failed may have made the work directory alone.
func saveWorkOnly(t *testing.T, s *Store) {
	for _, still := range []bool{true, false} {
		id, layer := fmt.Sprintf("w%v", still), fmt.Sprintf("W%v", still)
		must(t, s.Create(t.Context(), id))
		_, err := s.FreshWork(t.Context(), id, "/")
		must(t, err)
		_, err = s.Save(t.Context(), id, layer, still)
		must(t, err)
		if uppers, err := s.LayerUppers(layer); err != nil || len(uppers) > 0 {
			t.Errorf("the layer has %v, %v", uppers, err)
		}
		must(t, s.Create(t.Context(), "child-"+id))
		must(t, s.Clone(t.Context(), layer, "child-"+id))
	}
}

func refused(t *testing.T, p place) {
	s := p.open(t)
	newBox(t, s, "b")
	must(t, s.Create(t.Context(), "bare"))
	_, err := s.Save(t.Context(), "b", "L", false)
	must(t, err)
	save := func(box, layer string) error {
		_, err := s.Save(t.Context(), box, layer, true)
		return err
	}
	for what, c := range map[string]struct {
		err  error
		want forkbox.Code
	}{
		"save no box":            {save("nobody", "M"), forkbox.NotFound},
		"save ..":                {save("..", "M"), forkbox.Invalid},
		"save as ..":             {save("b", ".."), forkbox.Invalid},
		"clone no layer":         {s.Clone(t.Context(), "nothing", "bare"), forkbox.NotFound},
		"clone for no box":       {s.Clone(t.Context(), "L", "nobody"), forkbox.NotFound},
		"clone over a top":       {s.Clone(t.Context(), "L", "b"), forkbox.Exists},
		"clone a path":           {s.Clone(t.Context(), "../layers/L", "bare"), forkbox.Invalid},
		"drop a path":            {s.DropTop(t.Context(), "../b"), forkbox.Invalid},
		"remove a path as layer": {s.RemoveLayer(t.Context(), "../boxes"), forkbox.Invalid},
	} {
		if c.err == nil || forkbox.CodeOf(c.err) != c.want {
			t.Errorf("%s: %v, want %s", what, c.err, c.want)
		}
	}
	if _, err := s.LayerUppers("nothing"); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("LayerUppers of no layer: %v", err)
	}
	wantWhole(t, s)
}

// plainTop: what another driver made works with this one.
func plainTop(t *testing.T, p place) {
	old := place{p.dir, "copy"}.open(t)
	write(t, filepath.Join(newBox(t, old, "b"), "f"), "old")
	write(t, filepath.Join(newBox(t, old, "c"), "f"), "old")
	_, err := old.Save(t.Context(), "c", "K", false)
	must(t, err)
	s := p.reopen(t, old.home)
	want := fingerprint(t, s.Upper("b"))
	_, err = s.Save(t.Context(), "b", "L", false)
	must(t, err)
	sameTree(t, "the layer", want, fingerprint(t, s.Layer("L")))
	must(t, s.Create(t.Context(), "child"))
	must(t, s.Clone(t.Context(), "K", "child"))
	sameTree(t, "the child", fingerprint(t, s.Layer("K")), fingerprint(t, s.Upper("child")))
}

// shelved: with every driver the top itself can become the layer.
func shelved(t *testing.T, p place) {
	s := p.open(t)
	write(t, filepath.Join(newBox(t, s, "b"), "f"), "text")
	want := fingerprint(t, s.Upper("b"))
	for range 2 {
		must(t, s.Shelve(t.Context(), "b", "L", 1))
		if exists(s.Top("b")) {
			t.Error("the box still has its top")
		}
		sameTree(t, "the layer", want, fingerprint(t, s.Layer("L")))
	}
	must(t, s.Clone(t.Context(), "L", "b"))
	sameTree(t, "the box", want, fingerprint(t, s.Upper("b")))
	if err := s.Shelve(t.Context(), "nobody", "M", 1); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("shelve no box: %v", err)
	}
}
