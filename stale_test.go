package forkbox

import (
	"encoding/json"
	"testing"
)

// TestRecordsOfStaleBoxesStayReadable: they had a sentence, or the name of a box
// that won a race, and the receipt beside it.
func TestRecordsOfStaleBoxesStayReadable(t *testing.T) {
	for old, want := range map[string]Staleness{
		`"won"`: {Receipt: "r1", Box: "won", Lost: true},
		`"box one landed /a b landed, which this one changed as well"`: {Receipt: "r1", Box: "one", Path: "/a b landed"},
		`"some other sentence"`:                    {Receipt: "r1"},
		`"box one landed /a"`:                      {Receipt: "r1"},
		`{"receipt":"r2","box":"one","path":"/a"}`: {Receipt: "r2", Box: "one", Path: "/a"},
	} {
		var stored StoredBox
		err := json.Unmarshal([]byte(`{"id":"b1","stale":`+old+`,"stale_by":"r1"}`), &stored)
		box := stored.Restored()
		if err != nil || box.Stale == nil || *box.Stale != want {
			t.Errorf("%s: %+v, %v", old, box.Stale, err)
		}
		again, err := json.Marshal(box.Stored())
		stored = StoredBox{}
		if err != nil || json.Unmarshal(again, &stored) != nil || *stored.Restored().Stale != want {
			t.Errorf("%s: %s, %v", old, again, err)
		}
	}
	var fresh StoredBox
	if err := json.Unmarshal([]byte(`{"id":"b1"}`), &fresh); err != nil || fresh.Restored().Stale != nil {
		t.Errorf("%+v, %v", fresh.Stale, err)
	}
}
