package describe

import (
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// Exit is how an exec, or a box, ended, in one line.
func Exit(exit *forkbox.Exit) string {
	if exit == nil {
		return "running"
	}
	text := causeText(*exit)
	if exit.Forced {
		text += "; TERM was not enough, KILL was needed"
	}
	return terminal.Printable(text)
}

// ExecExit is how an exec ended, with the limit that it met also where only its
// policy says how much that was.
func ExecExit(e forkbox.Exec) *forkbox.Exit {
	if e.Exit == nil || e.Exit.Limit != 0 || e.Exit.Cause != forkbox.CauseTimeout {
		return e.Exit
	}
	exit := *e.Exit
	exit.Limit, _ = e.Policy.Of(forkbox.Timeout)
	return &exit
}

func causeText(e forkbox.Exit) string {
	switch e.Cause {
	case forkbox.CauseExited:
		return fmt.Sprintf("exit %d", e.Code)
	case forkbox.CauseSignalled:
		return "ended by " + terminal.OrWord(e.Signal, "a signal") + from(e.By) + terminal.Because(e.Why)
	case forkbox.CauseTimeout:
		return "timed out" + atLimit(e, forkbox.Timeout, " after %s")
	case forkbox.CauseStopped:
		return "stopped" + by(e.By) + terminal.Because(e.Why)
	case forkbox.CauseOOM:
		return "killed by the kernel: memory limit" + atLimit(e, forkbox.Memory, " of %s") + peakText(e, forkbox.Memory)
	case forkbox.CausePids:
		return "ended where no more processes were allowed: pids limit" + atLimit(e, forkbox.Pids, " of %s") + peakText(e, forkbox.Pids)
	case forkbox.CauseDisk:
		return diskText(e)
	}
	return rareText(e)
}

// diskText has the exit's own words, where there are any: the limit may have
// been one of bytes or of files.
func diskText(e forkbox.Exit) string {
	const text = "ended where no more disk was allowed"
	if e.Why != "" {
		return text + ": " + e.Why
	}
	return text + ": disk limit" + atLimit(e, forkbox.Disk, " of %s") + peakText(e, forkbox.Disk)
}

// rareText is of those that come from outside the box.
func rareText(e forkbox.Exit) string {
	switch e.Cause {
	case forkbox.CauseTTL:
		e.Why = "" // it says the same
		return "the box's time was up" + atLimit(e, forkbox.TTL, " after %s")
	case forkbox.CauseIdle:
		return "stopped for being idle" + atLimit(e, forkbox.Idle, " for %s")
	case forkbox.CauseShutdown:
		return "the host went down" + terminal.Because(e.Why)
	case forkbox.CauseLost:
		return "lost: the box died under it" + terminal.Because(e.Why)
	case forkbox.CauseNotRun:
		return "not started" + terminal.Because(e.Why)
	}
	return string(e.Cause) + terminal.Because(e.Why)
}

// atLimit is the limit that was met; without a figure, why.
func atLimit(e forkbox.Exit, r forkbox.Resource, format string) string {
	if e.Limit <= 0 {
		return terminal.Because(e.Why)
	}
	return fmt.Sprintf(format, forkbox.FormatLimit(r, e.Limit))
}

func peakText(e forkbox.Exit, r forkbox.Resource) string {
	if e.Peak <= 0 {
		return ""
	}
	return ", peak " + Figure(r, e.Peak)
}

func from(who string) string { return terminal.Prefixed(" from ", who) }
func by(who string) string   { return terminal.Prefixed(" by ", who) }

// Figure is a measured value in the units of limits. Unlike a limit it may be
// rounded: 63.9m, not 65432k.
func Figure(r forkbox.Resource, n int64) string {
	if r.Info().Unit == forkbox.UnitBytes {
		return terminal.RoundBytes(n)
	}
	return forkbox.FormatLimit(r, n)
}

// PlainExit says whether an exit code tells all there is to tell.
func PlainExit(exit *forkbox.Exit) bool {
	return exit == nil || exit.Cause == forkbox.CauseExited
}
