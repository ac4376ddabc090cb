package engine

import (
	"context"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
)

// ending is why the engine ends a box, or an exec.
type ending struct {
	cause forkbox.Cause
	by    string
	why   string
}

func byUser(who forkbox.Owner) string { return "user " + who.Name }

// own is who ends what nobody asked to end.
const own = "forkbox"

// asked is the exit of an exec that the engine had end: it says so, whether the
// exec died of the signal or gave up by itself.
func (w *ending) asked(exit forkbox.Exit) forkbox.Exit {
	gaveUp := exit.Cause == forkbox.CauseExited && exit.Code != 0
	killed := exit.Cause == forkbox.CauseSignalled || exit.Cause == forkbox.CauseStopped
	if w == nil || !killed && !gaveUp {
		return exit
	}
	exit.Cause, exit.By = w.cause, orElse(w.by, exit.By)
	if w.cause == forkbox.CauseTimeout {
		exit.Code = 124
	}
	exit.Why = orElse(w.why, exit.Why)
	return exit
}

// unasked is the exit of an exec that ended with its box, before it could be
// asked for its own.
func (w *ending) unasked() forkbox.Exit {
	return forkbox.Exit{
		Code: 128 + 9, Signal: "SIGKILL", Cause: w.cause, By: w.by, Why: orElse(w.why, "the box was stopped"),
	}
}

// death is how a box ended that nobody asked to end.
func (w ending) death() *forkbox.Exit {
	return &forkbox.Exit{Cause: w.cause, By: w.by, Why: w.why}
}

// signaller remembers who sent a signal, and which.
type signaller struct {
	by     string
	signal int
}

// sent says who sent the signal that an exec died of, where that is known.
func (s signaller) sent(exit forkbox.Exit) forkbox.Exit {
	if exit.Cause == forkbox.CauseSignalled && exit.By == "" && s.by != "" && exit.Code == 128+s.signal {
		exit.By = s.by
	}
	return exit
}

// kindOf is the event that an exit is, where it is one.
func kindOf(exit forkbox.Exit) (forkbox.EventKind, bool) {
	r, met := forkbox.ResourceBehind(exit.Cause)
	kind := r.Info().Event
	return kind, met && kind != ""
}

// exitEvent tells of an exec that a limit ended.
func (e *Engine) exitEvent(box forkbox.Box, exec forkbox.Exec) {
	kind, ok := kindOf(*exec.Exit)
	if !ok {
		return
	}
	text := exec.Exit.Why
	if r, _ := forkbox.ResourceBehind(exec.Exit.Cause); text == "" {
		limit := exec.Exit.Limit
		if v, has := exec.Policy.Of(r); has && limit == 0 {
			limit = v
		}
		text = string(r) + " limit of " + forkbox.FormatLimit(r, limit) + " reached"
	}
	e.tell(box, kind, exec.ID, text)
}

// diskMargin is how close to its limit a box counts as having met it: what
// failed may have been larger than what was left.
func diskMargin(r forkbox.Resource, limit int64) int64 {
	if r == forkbox.Inodes {
		return max(1, limit/100)
	}
	return max(64<<10, limit/100)
}

// lookLimit is how long it may take to find out what an exec died of: somebody
// waits for its exit.
const lookLimit = 5 * time.Second

// blameDisk says that an exec failed for want of disk where the box has none
// left.
func (e *Engine) blameDisk(h *handle, a *attached, exit forkbox.Exit) forkbox.Exit {
	failed := exit.Cause == forkbox.CauseExited || exit.Cause == forkbox.CauseSignalled && wantOfDisk[exit.Signal]
	policy := h.policy(a)
	if !failed || exit.Code == 0 || h.ending(a) != nil || !limitsDisk(policy) {
		return exit
	}
	ctx, cancel := context.WithTimeout(e.ctx, lookLimit)
	defer cancel()
	used, err := e.used(ctx, h, a, 0)
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
