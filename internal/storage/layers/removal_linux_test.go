package layers

import (
	"os"
	"path/filepath"
	"testing"
)

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
	must(t, s.EmptyTrash(t.Context())) // somebody else's
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
