package race

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func raceWatchVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "watch [RACE]",
		Short: "Watch a race, and see what comes of it",
		Long: `Watch a race until it ends, as forkbox race shows it. Without RACE it is the newest.
Ctrl-C ends the watching, not the race.

The exit code is that of the race: 0 when somebody won, 1 when nobody did. With
--json every event is one document on a line of its own.`,
		Example:           "  forkbox race watch\n  forkbox race watch fix --json | jq -r 'select(.kind == \"output\").line'",
		Args:              app.Between(0, 1, "one race at most: forkbox race watch [RACE]"),
		ValidArgsFunction: completeRaces(a, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			defer c.Close()
			race, err := watchRace(cmd.Context(), a, leavesRace, func(ctx context.Context, take raceTake) (forkbox.Race, error) {
				return c.FollowRace(ctx, append(args, "")[0], take)
			})
			if err != nil {
				return err
			}
			return cmp.Or(showResult(a, race), raceExit(a, race))
		},
	}
}

// raceTake hears the events of a race.
type raceTake = func(forkbox.RaceEvent) error

// onInterrupt is what ctrl-C does to a race that is watched, in words.
type onInterrupt struct{ first, second string }

// What ctrl-C means: to who started a race, and to who only looks.
var (
	cancelsRace = onInterrupt{
		"cancelling; ctrl-C again leaves that to the daemon",
		"left it; the daemon goes on cancelling. See: forkbox race show %s",
	}
	leavesRace = onInterrupt{first: "left it; the race goes on. See: forkbox race watch %s"}
)

// watchRace shows a race while follow hears of it. Ctrl-C ends the context, and
// is then the error; the second one does not wait for what follow makes of that.
func watchRace(ctx context.Context, a *app.App, on onInterrupt, follow func(context.Context, raceTake) (forkbox.Race, error)) (forkbox.Race, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	view := newRaceView(a)
	defer view.close()
	caught := make(chan os.Signal, 2)
	if !signal.Ignored(os.Interrupt) {
		signal.Notify(caught, os.Interrupt)
		defer signal.Stop(caught)
	}
	done := make(chan raceEnd, 1)
	go func() {
		race, err := follow(ctx, view.take)
		done <- raceEnd{race, err}
	}()
	select {
	case end := <-done:
		return end.race, forkbox.Wrap("follow the race", end.err)
	case <-caught:
		cancel()
		return interruptRace(a, view, on, caught, done)
	}
}

type raceEnd struct {
	race forkbox.Race
	err  error
}

// interruptRace waits for the end that ctrl-C brings, unless it comes again.
func interruptRace(a *app.App, view raceView, on onInterrupt, caught <-chan os.Signal, done <-chan raceEnd) (forkbox.Race, error) {
	if on.second == "" {
		view.close()
		sayUnlessJSON(a, on.first, terminal.Printable(view.race()))
		return forkbox.Race{}, terminal.Interrupted
	}
	view.note(on.first)
	select {
	case end := <-done:
		view.close()
		return end.race, cmp.Or(showCancelled(a, view, end.race), error(terminal.Interrupted))
	case <-caught:
		view.close()
		sayUnlessJSON(a, on.second, terminal.Printable(view.race()))
		return forkbox.Race{}, terminal.Interrupted
	}
}

// showCancelled shows how far a race came. Who reads events hears no end of it:
// the connection was given up to cancel it.
func showCancelled(a *app.App, view raceView, race forkbox.Race) error {
	switch {
	case race.ID == "": // it never began
		return nil
	case a.JSON:
		return view.take(forkbox.RaceEvent{Race: race.ID, Time: time.Now(), Kind: forkbox.RaceEnds, Record: &race})
	}
	return showResult(a, race)
}

func sayUnlessJSON(a *app.App, format string, args ...any) {
	if !a.JSON {
		a.Say(format, args...)
	}
}
