package main

import (
	"context"
	"errors"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// land asks for a second look where one is needed and somebody is there.
func (l *lander) land(ctx context.Context, c *client.Client, ref string, spec forkbox.ApplySpec) (forkbox.Receipt, error) {
	receipt, err := l.try(ctx, c, ref, spec)
	var e *forkbox.Error
	if errors.As(err, &e) && e.Code == forkbox.Unconfirmed && l.canAsk() {
		l.say("%s", l.paint(yellow, "this deserves a second look:"))
		l.listItems(e.Items)
		if !l.agree("apply?") {
			l.say("nothing was applied")
			return receipt, exitStatus(e.Code.ExitCode())
		}
		spec.Yes = true
		if e.Hash != "" { // what was looked at, and nothing else
			spec.Reviewed = e.Hash
		}
		receipt, err = l.try(ctx, c, ref, spec)
	}
	accept := "the same with --yes" // and the same paths
	if l.afterRun {
		accept = "forkbox apply --yes " + ref
	}
	err = advise(err, forkbox.Unconfirmed, "--yes", "look at it: forkbox diff -p %s   accept it: %s", ref, accept)
	return receipt, l.adviseConflict(err, ref, spec)
}

func (l *lander) try(ctx context.Context, c *client.Client, ref string, spec forkbox.ApplySpec) (receipt forkbox.Receipt, err error) {
	err = l.patiently(ctx, "applying "+ref, func(ctx context.Context) error {
		receipt, err = c.Apply(ctx, ref, spec)
		return err
	})
	if err == interrupted {
		l.say("interrupted; whether it landed is in: forkbox receipts")
	}
	return receipt, err
}

// adviseConflict is for conflicts that the daemon met only when it landed: of
// others it says itself what settles them.
func (l *lander) adviseConflict(err error, ref string, spec forkbox.ApplySpec) error {
	var e *forkbox.Error
	if !errors.As(err, &e) || len(e.Items) == 0 || len(e.Hints) > 0 || spec.Conflict != forkbox.Refuse {
		return err
	}
	err = advise(err, forkbox.Conflict, "sync", "merge in the box first: forkbox sync %s", ref)
	return advise(err, forkbox.Conflict, "--conflict", "or say which version lands: --conflict=theirs (the box's), ours (reality's) or markers")
}
