package engine

import (
	"context"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
)

// sharersLimit is how long others may take to be done with what they are at.
const sharersLimit = 5 * time.Second

// kin is everything that has layers in common with a box, its snapshots, or
// with what has them in common with those.
type kin struct {
	boxes     []forkbox.Box
	templates []forkbox.Template
	stacks    [][]string
}

// kinOf finds them among what is the owner's.
func (e *Engine) kinOf(ctx context.Context, box forkbox.Box) (k kin, err error) {
	h := holdings{}
	if h.boxes, err = e.ledger.Boxes(ctx, &box.Owner.UID); err != nil {
		return k, err
	}
	if h.snapshots, err = e.ledger.SnapshotsOf(ctx, &box.Owner.UID); err != nil {
		return k, err
	}
	if h.templates, err = e.ledger.Templates(ctx, &box.Owner.UID); err != nil {
		return k, err
	}
	layers := map[string]bool{}
	add := func(stack []string) (grew bool) {
		for _, l := range stack {
			grew = grew || !layers[l]
			layers[l] = true
		}
		return grew
	}
	add(box.Layers)
	for _, s := range h.snapshots {
		if s.Box == box.ID {
			add(s.Layers)
		}
	}
	related := func(stack []string) bool {
		return slices.ContainsFunc(stack, func(l string) bool { return layers[l] })
	}
	for grew := true; grew; {
		grew = false
		for _, b := range h.boxes {
			grew = related(b.Layers) && add(b.Layers) || grew
		}
		for _, s := range h.snapshots {
			grew = related(s.Layers) && add(s.Layers) || grew
		}
		for _, t := range h.templates {
			grew = related(t.Layers) && add(t.Layers) || grew
		}
	}
	return h.kin(box.ID, related), nil
}

// kin is what is related, but for the box itself.
func (h *holdings) kin(box string, related func([]string) bool) (k kin) {
	for _, b := range h.boxes {
		if related(b.Layers) && b.ID != box {
			k.boxes, k.stacks = append(k.boxes, b), append(k.stacks, b.Layers)
		}
	}
	for _, s := range h.snapshots {
		if related(s.Layers) {
			k.stacks = append(k.stacks, s.Layers)
		}
	}
	for _, t := range h.templates {
		if related(t.Layers) {
			k.templates, k.stacks = append(k.templates, t), append(k.stacks, t.Layers)
		}
	}
	return k
}

// holdSharers brings to rest whatever lies over layers that are about to be
// rewritten with those of a box, and keeps it there until release is called. A
// box in which something runs refuses. The caller has the box's turn.
func (e *Engine) holdSharers(ctx context.Context, op string, box forkbox.Box) (release func(), err error) {
	var releases []func()
	release = func() {
		for _, r := range slices.Backward(releases) {
			r()
		}
	}
	k, err := e.kinOf(ctx, box)
	if err != nil {
		return nil, err
	}
	for _, other := range k.boxes {
		unlock, err := e.holdSharer(ctx, op, other)
		if err != nil {
			release()
			return nil, err
		}
		releases = append(releases, unlock)
	}
	cooled, err := e.coolSharers(ctx, k.templates)
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
func (e *Engine) coolSharers(ctx context.Context, templates []forkbox.Template) (again func(), err error) {
	w, ok := e.provider.(warmer)
	templates = slices.DeleteFunc(templates, func(t forkbox.Template) bool { return t.Warm == 0 })
	if !ok || len(templates) == 0 {
		return func() {}, nil
	}
	unlock, err := e.lockTemplates(ctx)
	if err != nil {
		return nil, err
	}
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
