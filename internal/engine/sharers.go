package engine

import (
	"context"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
)

// sharersLimit is how long others may take to be done with what they are at.
const sharersLimit = 5 * time.Second

// holdSharers brings to rest whatever lies over layers that a box lies over as
// well, because those are about to be rewritten, and keeps it there until
// release is called. A box in which something runs refuses. The caller has the
// box's turn.
func (e *Engine) holdSharers(ctx context.Context, op string, box forkbox.Box) (release func(), err error) {
	var releases []func()
	release = func() {
		for _, r := range slices.Backward(releases) {
			r()
		}
	}
	if len(box.Layers) == 0 {
		return release, nil
	}
	boxes, err := e.ledger.Boxes(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, other := range boxes {
		if other.ID == box.ID || !share(other.Layers, box.Layers) {
			continue
		}
		unlock, err := e.holdSharer(ctx, op, other)
		if err != nil {
			release()
			return nil, err
		}
		releases = append(releases, unlock)
	}
	cooled, err := e.coolSharers(ctx, box)
	if err != nil {
		release()
		return nil, err
	}
	releases = append(releases, cooled)
	return release, nil
}

func (e *Engine) holdSharer(ctx context.Context, op string, other forkbox.Box) (unlock func(), err error) {
	// Not for ever: it may wait for what the caller holds.
	waiting, cancel := context.WithTimeout(ctx, sharersLimit)
	defer cancel()
	h, unlock, err := e.lock(waiting, other.ID)
	if err != nil {
		return nil, err
	}
	other, err = e.ledger.Box(ctx, other.ID)
	if isNotFound(err) {
		return unlock, nil
	}
	if err == nil && other.State == forkbox.Running {
		err = e.quiet(ctx, op, h, &other)
	}
	if err != nil {
		unlock()
		return nil, forkbox.Errorf(forkbox.Busy, op, "a directory was moved, and %s, which shares layers with it, cannot be brought to rest: %w", other.Name, err).
			Hint("stop it first: forkbox stop %s", other.Name)
	}
	return unlock, nil
}

// coolSharers takes down the boxes that are kept ready over shared layers,
// until they are wanted again.
func (e *Engine) coolSharers(ctx context.Context, box forkbox.Box) (again func(), err error) {
	w, ok := e.provider.(warmer)
	if !ok {
		return func() {}, nil
	}
	unlock, err := e.lockTemplates(ctx)
	if err != nil {
		return nil, err
	}
	templates, err := e.ledger.Templates(ctx, nil)
	if err != nil {
		unlock()
		return nil, err
	}
	templates = slices.DeleteFunc(templates, func(t forkbox.Template) bool { return t.Warm == 0 || !share(t.Layers, box.Layers) })
	for _, t := range templates {
		w.Warm(t.ID, boxOf(t), 0)
	}
	return func() {
		for _, t := range templates {
			e.warm(t)
		}
		unlock()
	}, nil
}

// share says whether two stacks have a layer in common.
func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(l string) bool { return slices.Contains(b, l) })
}
