package race

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/rank"
	"github.com/forkbox/forkbox/internal/risk"
)

// shownPaths is how many of the changed files a race lists.
const shownPaths = 20

// size finds out how much an approach changed since it began, and what of it
// deserves a second look: what a setup did is not its doing. What it did outside
// of the workspace is gone through only where there is anything: in caches and
// the like there may be very much.
func (b *bench) size(ctx context.Context, ref string) error {
	var size forkbox.DiffSize
	risks := risk.Notes{Root: b.boxes.Workspace(b.box.Dir), Dir: b.box.Dir, Judges: risk.JudgesOf(b.spec)}
	sum, err := b.diff(ctx, ref, forkbox.DiffSpec{Stat: true, Renames: true}, func(c forkbox.Change) error {
		rank.Count(&size, c)
		if len(size.Paths) < shownPaths {
			size.Paths = append(size.Paths, c.Path)
		}
		risks.Add(c)
		return nil
	})
	if err != nil {
		return err
	}
	size.Bytes, size.System = sum.Workspace.Bytes, sum.System.Total
	if size.System > 0 {
		err = b.elsewhere(ctx, ref, &risks)
	}
	b.jot(b.i, func(e *forkbox.Entry) { e.Diff, e.Risks = size, risks.List() })
	return err
}

// elsewhere goes through what an approach changed outside of the workspace.
func (b *bench) elsewhere(ctx context.Context, ref string, risks *risk.Notes) error {
	spec := forkbox.DiffSpec{Selection: forkbox.Selection{All: true}}
	_, err := b.diff(ctx, ref, spec, func(c forkbox.Change) error {
		if c.Scope == forkbox.System {
			risks.Add(c)
		}
		return nil
	})
	return err
}

// diff tells what the approach did, since it began.
func (b *bench) diff(ctx context.Context, ref string, spec forkbox.DiffSpec, yield func(forkbox.Change) error) (forkbox.Summary, error) {
	return b.boxes.DiffSince(ctx, b.who, ref, b.record().Point, spec, yield)
}
