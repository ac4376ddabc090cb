package limits

import (
	"context"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// EventOf is the event that an exit is, where it is one.
func EventOf(exit forkbox.Exit) (forkbox.EventKind, bool) {
	r, met := forkbox.ResourceBehind(exit.Cause)
	kind := r.Info().Event
	return kind, met && kind != ""
}

// ExitEvents are what is to be told of an exec that a limit ended.
func (m *Manager) ExitEvents(box forkbox.Box, exec forkbox.Exec) []forkbox.Event {
	kind, ok := EventOf(*exec.Exit)
	if !ok {
		return nil
	}
	text := exec.Exit.Why
	if r, _ := forkbox.ResourceBehind(exec.Exit.Cause); text == "" {
		limit := exec.Exit.Limit
		if v, has := exec.Policy.Of(r); has && limit == 0 {
			limit = v
		}
		text = string(r) + " limit of " + forkbox.FormatLimit(r, limit) + " reached"
	}
	return []forkbox.Event{m.core.AboutExec(box, exec.ID, kind, text)}
}

// diskMargin is how close to its limit a box counts as having met it: what
// failed may have been larger than what was left.
func diskMargin(r forkbox.Resource, limit int64) int64 {
	if r == forkbox.Inodes {
		return max(1, limit/100)
	}
	return max(64<<10, limit/100)
}

// LookLimit is how long it may take to find out what an exec died of: a caller
// waits for its exit.
const LookLimit = 5 * time.Second

// BlameDisk says that an exec failed for want of disk where the box has none
// left.
func (m *Manager) BlameDisk(h *core.Handle, a *core.Attached, exit forkbox.Exit) forkbox.Exit {
	failed := exit.Cause == forkbox.CauseExited || exit.Cause == forkbox.CauseSignalled && wantOfDisk[exit.Signal]
	policy := h.Policy(a)
	if !failed || exit.Code == 0 || h.Ending(a) != nil || !limitsDisk(policy) {
		return exit
	}
	ctx, cancel := context.WithTimeout(m.core.Ctx, LookLimit)
	defer cancel()
	used, err := m.used(ctx, h, a, 0)
	if err != nil {
		return exit
	}
	for _, r := range forkbox.ResourcesHeldBy(forkbox.HeldByDisk) {
		limit, has := policy.Of(r)
		if peak := used.of(r); has && peak >= limit-diskMargin(r, limit) {
			exit.Cause, exit.Limit, exit.Peak = forkbox.CauseDisk, limit, peak
			exit.Why = diskWhy(r, limit)
			return exit
		}
	}
	return exit
}

// wantOfDisk are the signals that the want of disk can end in. Who is
// interrupted did not fail.
var wantOfDisk = map[string]bool{"SIGABRT": true, "SIGBUS": true, "SIGXFSZ": true, "SIGSEGV": true}

func limitsDisk(p forkbox.Policy) bool {
	return slices.ContainsFunc(forkbox.ResourcesHeldBy(forkbox.HeldByDisk), func(r forkbox.Resource) bool { _, has := p.Of(r); return has })
}

func diskWhy(r forkbox.Resource, limit int64) string {
	return string(r) + " limit of " + forkbox.FormatLimit(r, limit) + " reached"
}
