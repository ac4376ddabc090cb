package race

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/rank"
	"github.com/forkbox/forkbox/internal/race/risk"
)

// shownPaths is how many of the changed files a race lists.
const shownPaths = 20

// size finds out how much an approach changed since it began, and what of it
// deserves a second look: what a setup did is not its doing. What it did outside
// of the workspace is gone through only where there is anything: in caches and
// the like there may be very much.
func (b *bench) size(ctx context.Context, ref string) error {
	var size forkbox.DiffSize
	found := findings{guard: b.guard()}
	found.Notes = risk.Notes{Root: b.boxes.Workspace(b.box.Dir), Dir: b.box.Dir, Judges: risk.JudgesOf(b.spec)}
	sum, err := b.diff(ctx, ref, forkbox.DiffSpec{Stat: true, Renames: true}, func(c forkbox.Change) error {
		rank.Count(&size, c)
		if len(size.Paths) < shownPaths {
			size.Paths = append(size.Paths, c.Path)
		}
		found.Add(c)
		return nil
	})
	if err != nil {
		return err
	}
	size.Bytes, size.System = sum.Workspace.Bytes, sum.System.Total
	if size.System > 0 || found.guard.Lists() && sum.Noise.Total > 0 {
		err = b.elsewhere(ctx, ref, &found)
	}
	b.jot(b.i, func(e *forkbox.Entry) { e.Diff, e.Risks, e.Protected = size, found.List(), found.guarded })
	return err
}

// findings are what deserves a second look, and what of it judges.
type findings struct {
	risk.Notes
	guard   *risk.Guard
	guarded []string // the first paths
}

func (f *findings) Add(c forkbox.Change) {
	f.Notes.Add(c)
	f.addGuarded(c)
}

func (f *findings) addGuarded(c forkbox.Change) {
	if len(f.guarded) < shownPaths && f.guard.Guards(c) {
		f.guarded = append(f.guarded, c.Path)
	}
}

// elsewhere goes through what an approach changed outside of the workspace, and
// what of it is noise.
func (b *bench) elsewhere(ctx context.Context, ref string, found *findings) error {
	spec := forkbox.DiffSpec{Selection: forkbox.Selection{All: true}}
	_, err := b.diff(ctx, ref, spec, func(c forkbox.Change) error {
		switch c.Scope {
		case forkbox.System:
			found.Add(c)
		case forkbox.Noise:
			found.addGuarded(c)
		}
		return nil
	})
	return err
}

// diff tells what the approach did, since it began.
func (b *bench) diff(ctx context.Context, ref string, spec forkbox.DiffSpec, yield func(forkbox.Change) error) (forkbox.Summary, error) {
	return b.boxes.DiffSince(ctx, b.who, ref, b.record().Point, spec, yield)
}
