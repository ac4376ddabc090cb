package ledgertest

import (
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// stillIsKeptWhole: and what it consists of counts as needed, as does what the
// services of boxes and templates lie over.
func stillIsKeptWhole(t *testing.T, l forkbox.Ledger) {
	one := forkbox.Still{
		ID: "s1", UID: 1, Service: "postgresql", Of: "/var/lib/pg 5432", Way: "delta", Paused: time.Millisecond, Bytes: 7,
		Taken: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Layers: []string{"l1"},
	}
	other := one
	other.ID, other.UID, other.Layers = "s2", 2, []string{"l2"}
	noError(t, l.SaveStill(t.Context(), one))
	noError(t, l.SaveStill(t.Context(), other))
	one.Ready, one.Layers = true, []string{"l3", "l1"}
	noError(t, l.SaveStill(t.Context(), one))
	uid := 1
	got, err := l.Stills(t.Context(), &uid)
	noError(t, err)
	equal(t, got, []forkbox.Still{one})
	got, err = l.Stills(t.Context(), nil)
	noError(t, err)
	equal(t, got, []forkbox.Still{one, other})

	box := Box("b1", "one", 1)
	box.Services = []forkbox.BoxService{{Name: "postgresql", Layers: []string{"l4"}}}
	noError(t, l.AddBox(t.Context(), box))
	needed := map[string]bool{}
	stacks, err := l.Stacks(t.Context())
	noError(t, err)
	for _, s := range stacks {
		for _, layer := range s.Layers {
			needed[layer] = true
		}
	}
	for _, layer := range []string{"l1", "l2", "l3", "l4"} {
		if !needed[layer] {
			t.Errorf("%s is needed, and is not among %v", layer, stacks)
		}
	}
	noError(t, l.DeleteStill(t.Context(), "s1"))
	noError(t, l.DeleteStill(t.Context(), "s1"))
	got, err = l.Stills(t.Context(), nil)
	noError(t, err)
	equal(t, got, []forkbox.Still{other})
}
