package race

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/rank"
	"github.com/forkbox/forkbox/internal/race/risk"
)

// guard is of what the approach is judged by; nil where nothing is protected.
func (b *lane) guard() *risk.Guard {
	return risk.NewGuard(b.spec, b.boxes.Workspace(b.box.Dir), b.box.Dir)
}

// protect has the box be as it was when the race began in what judges the
// approach, if that changed any of it: an approach that overwrites the check is
// judged by the one that was there. What its steps left is saved, and comes
// back. What they have started ends: it could write there again.
func (b *lane) protect(ctx context.Context) error {
	changed := b.entry(b.i).Protected
	if len(changed) == 0 {
		return nil
	}
	if !b.judging() {
		if err := b.putBack(ctx); err != nil {
			return err
		}
	}
	b.note(fmt.Sprintf("%s changed what judges it (%s), and was judged with that as it was before: what its steps had started was ended for that",
		b.approachName(), b.list(changed)))
	return nil
}

// judging says whether an earlier daemon had begun to judge: then that was done.
func (b *lane) judging() bool {
	for label := range b.known {
		if !strings.HasPrefix(label, b.label("step")+"/") {
			return true
		}
	}
	return false
}

func (b *lane) putBack(ctx context.Context) error {
	b.use.Lock()
	defer b.use.Unlock()
	b.meter.update(b)
	b.halt()
	err := b.boxes.PutBack(ctx, b.who, b.box.ID, b.record().Point, b.guard().Guards)
	if err == nil || context.Cause(ctx) != nil || b.closing() {
		return err
	}
	why := err.Error()
	if known := (*forkbox.Error)(nil); errors.As(err, &known) {
		why = known.Why
	}
	return forkbox.Errorf(forkbox.CodeOf(err), "judge "+b.approachName(), "it changed what judges it, which cannot be put back: %s", why).
		Hint("protect: none, in a race file, has approaches judged by what they made of it")
}

// list names a few paths, as they are called in the race's directory.
func (b *lane) list(paths []string) string {
	const most = 3
	var names []string
	for i, p := range paths {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(paths)-most))
			break
		}
		if rel, err := filepath.Rel(b.box.Dir, p); err == nil && !strings.HasPrefix(rel, "..") {
			p = rel
		}
		names = append(names, clip(line(p), 100))
	}
	return strings.Join(names, ", ")
}

// shownPaths is how many of the changed files a race lists.
const shownPaths = 20

// measureChange finds out how much an approach changed since it began, and what of it
// deserves a second look: what a setup did is not its doing. What it did outside
// of the workspace is gone through only where there is anything: in caches and
// the like there may be very much.
func (b *lane) measureChange(ctx context.Context, ref string) error {
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
		err = b.diffElsewhere(ctx, ref, &found)
	}
	b.editQuietly(b.i, func(e *forkbox.Entry) { e.Diff, e.Risks, e.Protected = size, found.List(), found.guarded })
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

// diffElsewhere goes through what an approach changed outside of the workspace, and
// what of it is noise.
func (b *lane) diffElsewhere(ctx context.Context, ref string, found *findings) error {
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
func (b *lane) diff(ctx context.Context, ref string, spec forkbox.DiffSpec, yield func(forkbox.Change) error) (forkbox.Summary, error) {
	return b.boxes.DiffSince(ctx, b.who, ref, b.record().Point, spec, yield)
}
