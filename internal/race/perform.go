package race

import (
	"context"
	"fmt"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/rank"
)

// run runs the approach: its steps, and then what judges them.
func (b *lane) run(ctx context.Context) (fate, error) {
	f, err := b.runSteps(ctx)
	if err != nil {
		return f, err
	}
	b.meter.update(b)
	if f.failed {
		return f, b.measureChange(ctx, b.box.ID)
	}
	if len(b.spec.Checks)+len(b.spec.Metrics) == 0 {
		return b.passUnjudged(ctx)
	}
	if err := b.save(ctx); err != nil {
		return f, err
	}
	if err := b.measureChange(ctx, b.box.ID+"@"+b.entry(b.i).Saved); err != nil {
		return f, err
	}
	if err := b.protect(ctx); err != nil {
		return f, err
	}
	return b.judge(ctx)
}

// runSteps runs what the approach consists of.
func (b *lane) runSteps(ctx context.Context) (fate, error) {
	var spent time.Duration
	for n, step := range b.spec.Approaches[b.i].Steps {
		left := time.Duration(0)
		if b.spec.Timeout > 0 {
			if left = b.spec.Timeout - spent; left <= 0 {
				return b.late(), nil
			}
		}
		x, err := b.runStep(ctx, n, step, left)
		if err != nil {
			return fate{}, err
		}
		spent += took(x)
		b.edit(b.i, func(e *forkbox.Entry) {
			e.Steps[n], e.Took, e.Refused = ran(step, x), spent, e.Refused+x.Refused
		})
		switch {
		case x.Exit.Cause == forkbox.CauseTimeout && b.spec.Timeout > 0 && spent >= b.spec.Timeout:
			return b.late(), nil
		case x.Exit.Code != 0 && !step.MayFail:
			return stepFate(step, *x.Exit), nil
		}
	}
	return fate{}, nil
}

func (b *lane) late() fate {
	return fate{
		outcome: forkbox.OutcomeTimedOut, failed: true,
		why: "its steps took longer than " + span(b.spec.Timeout),
	}
}

// runStep runs one of them.
func (b *lane) runStep(ctx context.Context, n int, step forkbox.Command, left time.Duration) (forkbox.Exec, error) {
	b.editQuietly(b.i, func(e *forkbox.Entry) { e.Steps = append(e.Steps, forkbox.Ran{Name: title(step)}) })
	return b.do(ctx, b.label("step", n), step, left)
}

// passUnjudged is for a race in which nothing judges: an approach that is
// through has passed. What was left running could go on to change the box.
func (b *lane) passUnjudged(ctx context.Context) (fate, error) {
	if b.occupied(ctx) {
		b.halt()
	}
	if err := b.measureChange(ctx, b.box.ID); err != nil {
		return fate{}, err
	}
	b.editQuietly(b.i, func(e *forkbox.Entry) { e.Score = 1 })
	return b.notePassed(fate{outcome: forkbox.OutcomePassed}), nil
}

// save keeps the box as its steps left it. After a crash it may be there
// already, and checks may have written into the box since.
func (b *lane) save(ctx context.Context) error {
	s, err := b.findOrMakeSnapshot(ctx, stepsName(b.id), stepsMessage(b.approachName()))
	if err == nil {
		b.editQuietly(b.i, func(e *forkbox.Entry) { e.Saved, e.Unclean = s.ID, true })
	}
	return err
}

// notePassed notes that the approach has passed. Where the first to pass wins,
// it ends the others.
func (b *lane) notePassed(f fate) fate {
	if b.spec.Stop != forkbox.StopFirstPass || f.outcome != forkbox.OutcomePassed {
		return f
	}
	b.mu.Lock()
	first := !b.passed
	b.passed = true
	b.mu.Unlock()
	if !first {
		return fateOf(errNotNeeded)
	}
	b.settled(errNotNeeded)
	return f
}

// judge runs the checks.
func (b *lane) judge(ctx context.Context) (fate, error) {
	b.setPhase(b.i, forkbox.PhaseChecking)
	for n := range b.spec.Checks {
		if err := b.check(ctx, n); err != nil {
			return fate{}, err
		}
	}
	if b.spec.Stop == forkbox.StopFirstPass {
		if err := b.confirm(ctx); err != nil {
			return fate{}, err
		}
	}
	b.meter.update(b)
	return b.notePassed(b.verdict()), nil
}

// verdict is what the checks say.
func (b *lane) verdict() fate {
	outcome, score, why := rank.Judge(b.entry(b.i).Checks)
	b.editQuietly(b.i, func(e *forkbox.Entry) { e.Score = score })
	return fate{outcome: outcome, why: why}
}

// stepFate is what a step that failed makes of its approach.
func stepFate(step forkbox.Command, exit forkbox.Exit) fate {
	f := fate{outcome: forkbox.OutcomeBroken, failed: true, why: fmt.Sprintf("its step %s %s", title(step), howItEnded(exit))}
	switch exit.Cause {
	case forkbox.CauseTimeout, forkbox.CauseTTL:
		f.outcome = forkbox.OutcomeTimedOut
	default:
		if _, met := forkbox.ResourceBehind(exit.Cause); met {
			f.outcome = forkbox.OutcomeLimited
		}
	}
	return f
}

// howItEnded says what came of a command, after its name.
func howItEnded(exit forkbox.Exit) string {
	switch exit.Cause {
	case forkbox.CauseTimeout:
		return "took too long"
	case forkbox.CauseTTL:
		return "was ended: the time of its box was up"
	case forkbox.CauseIdle:
		return "was ended: its box was idle for too long"
	case forkbox.CauseStopped:
		return "was stopped by " + orElse(exit.By, "a user")
	case forkbox.CauseSignalled:
		return "was ended by " + orElse(exit.Signal, "a signal")
	case forkbox.CauseNotRun:
		return "could not be started: " + line(exit.Why)
	}
	if r, met := forkbox.ResourceBehind(exit.Cause); met {
		return metLimit(r, exit.Limit)
	}
	return fmt.Sprintf("failed (exit %d)", exit.Code)
}

func metLimit(r forkbox.Resource, limit int64) string {
	if limit <= 0 {
		return "met its limit of " + string(r)
	}
	return fmt.Sprintf("met its limit of %s (%s)", r, forkbox.FormatLimit(r, limit))
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// span is a duration as people write it.
func span(d time.Duration) string { return forkbox.FormatLimit(forkbox.TTL, int64(d)) }
