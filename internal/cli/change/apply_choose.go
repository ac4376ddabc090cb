package change

import (
	"context"
	"reflect"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// Choose asks which changes land and makes spec exactly those. It is false when
// none was chosen.
func (l *Lander) Choose(ctx context.Context, c *client.Client, ref string, spec *forkbox.ApplySpec) (bool, error) {
	shown, err := l.collect(ctx, c, ref, spec.Selection, spec.Reviewed)
	if err != nil {
		return false, err
	}
	if len(shown) == 0 {
		l.Say("nothing to apply")
		return false, nil
	}
	pick := &picker{in: l.Answers(), out: l.Stderr, colour: terminal.TakesColour(l.Stderr), here: place.Here()}
	picked := pick.run(shown)
	if len(picked.paths) == 0 {
		l.Say("nothing was chosen, and nothing was applied")
		return false, nil
	}
	// These and no others. All stays as it was: patches depend on it.
	spec.Selection = forkbox.Selection{Paths: picked.paths, Exact: true, All: spec.All}
	spec.Hunks = picked.hunks
	spec.Reviewed, err = l.same(ctx, c, ref, spec.Selection, shown)
	return err == nil, err
}

// collect reads all changes with their patches, before anything is asked. Files
// that were moved come as what they are to an apply: one that went and one that
// came.
func (l *Lander) collect(ctx context.Context, c *client.Client, ref string, sel forkbox.Selection, reviewed string) ([]forkbox.Change, error) {
	var changes []forkbox.Change
	var summary forkbox.Summary
	err := l.Patiently(ctx, "comparing", func(ctx context.Context) (err error) {
		spec := forkbox.DiffSpec{Selection: sel, Patch: true, Hash: reviewed != ""}
		summary, err = c.Changes(ctx, ref, spec, func(change forkbox.Change) error {
			changes = append(changes, change)
			return nil
		})
		return err
	})
	if err == nil && summary.Hash != reviewed {
		err = forkbox.Errorf(forkbox.Conflict, "apply box "+ref, "its changes are not those that were reviewed").
			Hint("review them again: forkbox diff --json %s", ref)
	}
	return changes, err
}

// same is the hash of what was chosen, provided that it still is what was
// shown: what you reviewed is what lands.
func (l *Lander) same(ctx context.Context, c *client.Client, ref string, sel forkbox.Selection, shown []forkbox.Change) (string, error) {
	was := map[string]forkbox.Change{}
	for _, change := range shown {
		was[rawPath(change)] = change
	}
	moved := forkbox.Errorf(forkbox.Conflict, "apply box "+ref, "it changed while you were choosing").
		Hint("nothing was applied; choose again")
	var summary forkbox.Summary
	err := l.Patiently(ctx, "checking", func(ctx context.Context) (err error) {
		spec := forkbox.DiffSpec{Selection: sel, Patch: true, Hash: true}
		summary, err = c.Changes(ctx, ref, spec, func(change forkbox.Change) error {
			if !reflect.DeepEqual(change, was[rawPath(change)]) {
				moved.About(rawPath(change), "is not what was shown")
			}
			delete(was, rawPath(change))
			return nil
		})
		return err
	})
	for _, path := range sel.Paths {
		if _, missing := was[path]; missing {
			moved.About(path, "is not changed any more")
		}
	}
	if err == nil && len(moved.Items) > 0 {
		err = moved
	}
	return summary.Hash, err
}
