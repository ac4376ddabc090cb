package change

import (
	"context"
	"errors"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// Land asks for a second look where one is needed and somebody is there.
func (l *Lander) Land(ctx context.Context, c *client.Client, ref string, spec forkbox.ApplySpec) (forkbox.Receipt, error) {
	receipt, err := l.try(ctx, c, ref, spec)
	var e *forkbox.Error
	if errors.As(err, &e) && e.Code == forkbox.Unconfirmed && l.CanAsk() {
		l.Say("%s", l.Paint(terminal.Yellow, "this deserves a second look:"))
		l.ListItems(e.Items)
		if !l.Agree("apply?") {
			l.Say("nothing was applied")
			return receipt, terminal.ExitStatus(e.Code.ExitCode())
		}
		spec.Yes = true
		if e.Hash != "" { // what was looked at, and nothing else
			spec.Reviewed = e.Hash
		}
		receipt, err = l.try(ctx, c, ref, spec)
	}
	accept := "the same with --yes" // and the same paths
	if l.AfterRun {
		accept = "forkbox apply --yes " + ref
	}
	err = app.Advise(err, forkbox.Unconfirmed, "--yes", "look at it: forkbox diff -p %s   accept it: %s", ref, accept)
	return receipt, l.adviseConflict(err, ref, spec)
}

func (l *Lander) try(ctx context.Context, c *client.Client, ref string, spec forkbox.ApplySpec) (receipt forkbox.Receipt, err error) {
	err = l.Patiently(ctx, "applying "+ref, func(ctx context.Context) error {
		receipt, err = c.Apply(ctx, ref, spec)
		return err
	})
	if err == terminal.Interrupted {
		l.Say("interrupted; whether it landed is in: forkbox receipts")
	}
	return receipt, err
}

// adviseConflict is for conflicts that the daemon met only when it landed: of
// others it says itself what settles them.
func (l *Lander) adviseConflict(err error, ref string, spec forkbox.ApplySpec) error {
	var e *forkbox.Error
	if !errors.As(err, &e) || len(e.Items) == 0 || len(e.Hints) > 0 || spec.Conflict != forkbox.Refuse {
		return err
	}
	err = app.Advise(err, forkbox.Conflict, "sync", "merge in the box first: forkbox sync %s", ref)
	return app.Advise(err, forkbox.Conflict, "--conflict", "or say which version lands: --conflict=theirs (the box's), ours (reality's) or markers")
}
