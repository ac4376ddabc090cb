package land

import (
	"os"
	"strings"
	"testing"
)

func TestEverythingLandsAndIsUndone(t *testing.T) {
	w := newWorld(t, quickDir(t))
	w.furnish()
	before := w.snap()
	w.must(w.land(w.everything()...))
	for p, want := range map[string]string{
		"/add/first": "linked", "/add/second": "linked", "/add/swapped/one": "edited in a moved directory",
		"/add/swapped/more": "in a moved directory", "/dir/new": "new in old", "/edit": "new", "/edit-too": "old /edit",
		"/swap1/y": "old /nest/y", "/tofile": "was a directory", "/tolink/in": "was a file", "/mode-too": "old /mode",
		"/to-old": "old /dir/keep", "/turn1/b": "old /turn2/b", "/turn2/a": "old /turn1/a", "/onto/a": "old /over/a", strange: "strange",
	} {
		if got := w.read(p); got != want {
			t.Errorf("%q has %q, not %q", p, got, want)
		}
	}
	after := w.snap()
	for _, p := range []string{"/fifo", "/gone", "/rmdir", "/rodir", "/over", "/onto/b", "/turn1/a", "/nest", "/swap1/x", "/moved/x"} {
		if _, there := after[p]; there {
			t.Errorf("%q is still there", p)
		}
	}
	for p, want := range map[string]string{
		"/add": "40750", "/add/sub": "40555", "/dir": "40700", "/ro": "40511", "/newro": "40555", "/mode": "100600", "/mode-too": "100644",
		"/suid": "104755", "/link": "120777", "/moved/deep": "120777", "/add/sub/fifo": "10640",
	} {
		if !strings.HasPrefix(after[p], want+" ") {
			t.Errorf("%q is %s, not %s", p, after[p], want)
		}
	}
	for p := range after {
		if strings.Contains(p, ".forkbox") {
			t.Errorf("%q is left in the tree", p)
		}
	}
	w.must(w.undo())
	w.same("after undo", before)
	o, err := Recover(t.Context(), w.cfg())
	if err != nil || o.State != Undone {
		t.Fatal(o, err)
	}
	w.must(Expire(t.Context(), w.cfg()))
	w.same("after expiry", before)
	names, _ := os.ReadDir(w.cfg().Dir)
	for _, n := range names {
		if n.IsDir() {
			t.Errorf("%s is kept after expiry", n.Name())
		}
	}
}
