package change

import (
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/place"
)

// TestDeletedDirectorySaysWhatMovedOut: what lives on elsewhere is not among
// what went.
func TestDeletedDirectorySaysWhatMovedOut(t *testing.T) {
	for _, c := range []struct {
		entries, moved int
		want           string
	}{
		{0, 0, ""}, {1, 0, "  (with 1 path below)"}, {3, 1, "  (with 3 paths below; 1 moved out)"}, {0, 2, "  (with 0 paths below; 2 moved out)"},
	} {
		change := forkbox.Change{Kind: forkbox.Deleted, Type: "dir", Path: "/w/a", Entries: c.entries, MovedOut: c.moved}
		if got := changeDetail(place.Place{}, change); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
