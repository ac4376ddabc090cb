package land

import (
	"encoding/json"
	"testing"

	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// What is looked for in a line is what the record says, whatever its names are.
func TestTraitsAreTheRecords(t *testing.T) {
	tricky := `/a","op":"move","inside":true,"entrywise":true,"link":"x","op":"attr`
	for _, op := range []Op{Put, Remove, Attr, Move} {
		for _, asked := range []Op{"", Attr} {
			for bits := range 8 {
				r := record{N: 1, Op: op, Asked: asked, Path: tricky, Slot: tricky, Target: tricky, Tag: json.RawMessage(`{"kind":"added"}`), Inside: bits&1 > 0, Entrywise: bits&2 > 0}
				if bits&4 > 0 {
					r.Link = tricky
				}
				line, err := json.Marshal(&r)
				if err != nil {
					t.Fatal(err)
				}
				got := []bool{isMove(line), isPut(line), isAttr(line), isInside(line), isEntrywise(line), isLink(line), acts(line)}
				want := []bool{op == Move, op == Put, op == Attr, r.Inside, r.Entrywise, r.Link != "", !r.Inside || op == Attr}
				for i := range want {
					if got[i] != want[i] {
						t.Errorf("trait %d of %s is %v", i, line, got[i])
					}
				}
			}
		}
	}
	for _, l := range []left{{N: 1}, {N: 1, Now: &files.Object{}}, {N: 1, Slot: &files.Object{}}} {
		line, err := json.Marshal(&l)
		if err != nil || isNow(line) != (l.Now != nil) {
			t.Errorf("now is %v in %s, %v", isNow(line), line, err)
		}
	}
}
