package core

import (
	"github.com/forkbox/forkbox"
)

// Ending is why the engine ends a box, or an exec.
type Ending struct {
	Cause forkbox.Cause
	By    string
	Why   string
	// AtOnce says that it is killed without a TERM that it could heed: what has
	// exited did so before.
	AtOnce bool
}

// ByUser is how a user is named as the one who ended something.
func ByUser(who forkbox.Owner) string { return "user " + who.Name }

// ByForkbox is who ends what no user asked to end.
const ByForkbox = "forkbox"

// Asked is the exit of an exec that the engine had end: it says so, whether the
// exec died of the signal or gave up by itself.
func (w *Ending) Asked(exit forkbox.Exit) forkbox.Exit {
	gaveUp := exit.Cause == forkbox.CauseExited && exit.Code != 0
	killed := exit.Cause == forkbox.CauseSignalled || exit.Cause == forkbox.CauseStopped
	if w == nil || !killed && !gaveUp || gaveUp && w.AtOnce {
		return exit
	}
	exit.Cause, exit.By = w.Cause, OrElse(w.By, exit.By)
	if w.Cause == forkbox.CauseTimeout {
		exit.Code = 124
	}
	exit.Why = OrElse(w.Why, exit.Why)
	return exit
}

// Unasked is the exit of an exec that ended with its box, before it could be
// asked for its own.
func (w *Ending) Unasked() forkbox.Exit {
	return forkbox.Exit{
		Code: 128 + 9, Signal: "SIGKILL", Cause: w.Cause, By: w.By, Why: OrElse(w.Why, "the box was stopped"),
	}
}

// Death is how a box ended that no user asked to end.
func (w Ending) Death() *forkbox.Exit {
	return &forkbox.Exit{Cause: w.Cause, By: w.By, Why: w.Why}
}

// Signaller remembers who sent a signal, and which.
type Signaller struct {
	By     string
	Signal int
}

// Sent says who sent the signal that an exec died of, where that is known.
func (s Signaller) Sent(exit forkbox.Exit) forkbox.Exit {
	if exit.Cause == forkbox.CauseSignalled && exit.By == "" && s.By != "" && exit.Code == 128+s.Signal {
		exit.By = s.By
	}
	return exit
}
