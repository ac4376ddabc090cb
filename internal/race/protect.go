package race

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/risk"
)

// guard is of what the approach is judged by; nil where nothing is protected.
func (b *bench) guard() *risk.Guard {
	return risk.NewGuard(b.spec, b.boxes.Workspace(b.box.Dir), b.box.Dir)
}

// protect has the box be as it was when the race began in what judges the
// approach, if that changed any of it: who overwrites the check is judged by the
// one that was there. What its steps left is saved, and comes back. What they
// have started ends: it could write there again.
func (b *bench) protect(ctx context.Context) error {
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
func (b *bench) judging() bool {
	for label := range b.known {
		if !strings.HasPrefix(label, b.label("step")+"/") {
			return true
		}
	}
	return false
}

func (b *bench) putBack(ctx context.Context) error {
	b.use.Lock()
	defer b.use.Unlock()
	b.meter.look(b)
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
func (b *bench) list(paths []string) string {
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
