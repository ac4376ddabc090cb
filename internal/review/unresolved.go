package review

import (
	"context"
	"slices"
)

// Unresolved says whether an earlier sync left a path undecided. That is asked
// for every change, and there may be as many such paths.
func (v *View) Unresolved(path string) bool {
	if v.open == nil && len(v.Box.Unresolved) > 0 {
		v.open = slices.Sorted(slices.Values(v.Box.Unresolved))
	}
	_, found := slices.BinarySearch(v.open, path)
	return found
}

// Undecided says whether a sync left a change undecided, and nobody has decided
// since.
func (v *View) Undecided(ctx context.Context, e *Entry) (bool, error) {
	if !v.Unresolved(e.Path) {
		return false, nil
	}
	u, err := v.stillOpen(ctx, e)
	return u != nil, skipVanished(err)
}
