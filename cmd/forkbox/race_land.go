package main

import (
	"context"
	"errors"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// land asks for a second look where one is needed and somebody is there.
func (l *raceLander) land(ctx context.Context, c *client.Client, race forkbox.Race, apply forkbox.RaceApply) (forkbox.RaceLanding, error) {
	landing, err := l.try(ctx, c, race, apply)
	var e *forkbox.Error
	if errors.As(err, &e) && e.Code == forkbox.Unconfirmed && l.canAsk() {
		l.say("%s", l.paint(yellow, "this deserves a second look:"))
		l.listItems(e.Items)
		if !l.agree("apply?") {
			l.say("nothing was applied")
			return landing, exitStatus(e.Code.ExitCode())
		}
		apply.Yes = true
		if e.Hash != "" { // what was looked at, and nothing else
			apply.Reviewed = e.Hash
		}
		landing, err = l.try(ctx, c, race, apply)
	}
	return landing, l.advise(err, race, apply)
}

func (l *raceLander) try(ctx context.Context, c *client.Client, race forkbox.Race, apply forkbox.RaceApply) (landing forkbox.RaceLanding, err error) {
	err = l.patiently(ctx, "applying "+printable(race.Name), func(ctx context.Context) error {
		landing, err = c.ApplyRace(ctx, race.ID, apply)
		return err
	})
	if err == interrupted {
		l.say("interrupted; whether it landed is in: forkbox receipts")
	}
	return landing, err
}

// advise says what would help, in the words of race.
func (l *raceLander) advise(err error, race forkbox.Race, apply forkbox.RaceApply) error {
	name := orWord(apply.Approach, race.Winner)
	err = advise(err, forkbox.Unconfirmed, "--yes", "look at it: forkbox race diff -p %s %s   accept it: forkbox race apply --yes %s %s", race.Name, name, race.Name, name)
	entry, missing := entryWithBox(race, name)
	if missing != nil {
		return err
	}
	return l.adviseConflict(err, orWord(entry.BoxName, entry.Box), apply.ApplySpec)
}
