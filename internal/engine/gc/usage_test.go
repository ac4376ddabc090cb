package gc

import (
	"testing"

	"github.com/forkbox/forkbox"
)

// TestUsageIsOneOwners: what others store does not count against an owner's
// boxes, and what several of one's own share counts once.
func TestUsageIsOneOwners(t *testing.T) {
	ada, bob := forkbox.Owner{UID: 1}, forkbox.Owner{UID: 2}
	h := &holdings{
		boxes: []forkbox.Box{
			{ID: "a1", Owner: ada, Layers: []string{"l1"}},
			{ID: "a2", Owner: ada, Layers: []string{"l2", "l1"}},
			{ID: "b1", Owner: bob, Layers: []string{"l9"}},
		},
		snapshots: []forkbox.Snapshot{{ID: "s1", Box: "a1", Owner: ada, Layers: []string{"l1"}}},
		stored: forkbox.Stored{
			Boxes: map[string]forkbox.StoredBytes{"a1": {Own: 1, All: 1}, "a2": {Own: 2, All: 2}, "b1": {Own: 1000, All: 1000}},
			Layers: map[string]forkbox.StoredBytes{
				"l1": {Own: 10, All: 10}, "l2": {Own: 20, All: 20}, "l9": {Own: 5000, All: 5000},
			},
			Total: 6033,
		},
	}
	h.count()
	if got := h.of(1); got != 33 {
		t.Errorf("ada's take %d bytes", got)
	}
	if got := h.of(2); got != 6000 {
		t.Errorf("bob's take %d bytes", got)
	}
	if got := h.shared(); got != 10 {
		t.Errorf("%d bytes are shared", got)
	}
	// Removing a2 frees its top and the layer that no other box needs.
	if item := h.boxItem(h.boxes[1]); item.Own != 22 || item.All != 32 {
		t.Errorf("a2: %+v", item)
	}
	if len(h.boxes) != 3 || len(h.users) != 4 {
		t.Errorf("to count changed what is counted: %d boxes, %v", len(h.boxes), h.users)
	}
}
