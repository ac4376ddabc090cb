package copying

import (
	"context"
	"time"

	"github.com/forkbox/forkbox/internal/freezer"
)

// maxPasses bounds how often what changed is copied again.
const maxPasses = 8

// byDelta copies all while it is written to, and what changed since again, until
// little is left or it does not become less. Then the services stand still for
// the rest.
func (t *taking) byDelta(ctx context.Context) error {
	before, err := survey(ctx, t.items, nil, t.mapped())
	if err != nil {
		return err
	}
	if t.MaxPause <= 0 {
		return t.tooLong(before.pause(speedUnmeasured))
	}
	m := newMirror(neverShare)
	m.step = t.steps(before.bytes)
	speed, err := t.copyHot(ctx, m)
	if err != nil {
		return err
	}
	left, err := survey(ctx, t.items, m.seen, t.mapped())
	if err != nil {
		return err
	}
	left.processes = len(t.family())
	if pause := left.pause(speed); pause > t.MaxPause {
		return t.tooLong(pause)
	}
	err = t.stopped(ctx, func(ctx context.Context, _ *frozen) error { return m.pass(ctx, t.items, false, t.mapped()) })
	t.count(m)
	return err
}

// copyHot copies while it is written to, and says how fast files were compared.
func (t *taking) copyHot(ctx context.Context, m *mirror) (speed float64, err error) {
	var last int64
	for i := range maxPasses {
		began := time.Now()
		if err := m.pass(ctx, t.items, true, t.mapped()); err != nil {
			return 0, err
		}
		took := time.Since(began)
		if m.looked >= enoughToMeasure {
			speed = max(speed, float64(m.looked)/took.Seconds())
		}
		stuck := i > 0 && m.looked > last*3/4
		if i > 0 && (took < t.MaxPause/8 || stuck) {
			break
		}
		last = m.looked
	}
	if speed == 0 {
		speed = speedUnmeasured
	}
	return speed, nil
}

func (t *taking) family() []int {
	var roots []int
	for pid, start := range t.roots {
		if freezer.StartOf(pid) == start {
			roots = append(roots, pid)
		}
	}
	return freezer.FamilyOf(roots...)
}

func (t *taking) mapped() map[string]bool { return mapped(t.family()) }
