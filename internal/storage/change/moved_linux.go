package change

import (
	"context"
	"path"

	"github.com/forkbox/forkbox"
)

// HasMoved says whether a box's layers have made all of these moves: each
// directory is where it was moved to, and comes from where it was. That the base
// has made them as well does not matter.
func HasMoved(ctx context.Context, src Source, moves []forkbox.Move) (bool, error) {
	d := &discarder{ctx: ctx, src: src}
	for _, m := range moves {
		has := false
		u, ok := d.upperOf(m.To)
		if !ok || len(u.dirs()) == 0 {
			return false, nil
		}
		err := d.withSites(ctx, u, m.To, func(t *terrain, name string) error {
			ok, err := t.enter(name)
			at := t.last()
			has = ok && !at.opaque && path.Clean(t.inBase(at.origin)) == m.From
			return err
		})
		if err != nil || !has {
			return false, forkbox.Wrap("look where the box moved directories", err)
		}
	}
	return len(moves) > 0, nil
}
