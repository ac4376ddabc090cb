// Package race has the verbs of races, and the board that a race is watched on.
package race

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/change"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

// Verb is fork × exec × check × rank.
func Verb(a *app.App) *cobra.Command {
	r := &racer{App: a}
	cmd := &cobra.Command{
		Use:   "race [--try NAME=CMD]… [--check CMD]… [-f FILE] [--apply] [network] [limits] [flags] | race VERB",
		Short: "Try several ways at once, each on a clone, and keep the best",
		Long: `Try several ways at once. Each approach gets a clone of this machine of its own, all
forked at the same moment, and runs there with sh; the same checks judge each of
them, and the result is a table with the best first. Nothing lands before forkbox
race apply, or with --apply: then the winner does, as forkbox apply does it.

--try NAME=CMD is one way; without NAME= it is called try-1, try-2, … --check has to
pass. --setup runs once, before the fork. --time measures how long a command takes,
again and again; what noise explains is a tie. --n 5 is five times the same.
--protect PATH has all be judged with that path as it was, as tests and scripts that a
check names are in any case; --protect none leaves both to the approaches.

--agent is a command line for an agent, and --prompt what it is asked: {prompt} in the
command becomes the prompt as one word, and FORKBOX_PROMPT has it in any case. A
prompt that is in a file is @FILE; one that begins with @ is written with two of them.

-f reads a race from a file, which can say all of this and more: scores, numbers
from output, weights, retries, policies. Flags beside it override what it says of the
whole race; what is tried and how it is judged is the file's alone.

Limits and network are those of forkbox new, and the same for every approach. What
finds no room waits. The race runs in the daemon: ctrl-C cancels it, and closing the
terminal does not; forkbox race watch shows it again.

The exit code is 0 when somebody won and 1 when nobody did. With --json every event
is one document on a line of its own, and the last has the whole record; with --apply
one more line has what landed.`,
		Example: `  forkbox race --try 'dep=npm update left-pad' --try 'patch=git apply fix.diff' --check 'npm test'
  forkbox race --try 'a=git apply a.diff' --try 'b=git apply b.diff' --check 'make test' --time './bench' --apply
  forkbox race --agent 'claude -p {prompt}' --prompt 'Fix the failing test' --n 3 --check 'go test ./...'
  forkbox race --try 'a=./fix a' --try 'b=./fix b' --check 'make test' --protect Makefile --protect '*.golden'
  forkbox race -f race.yaml --parallel 2
  forkbox race show
  forkbox race diff fix patch
  forkbox race apply fix`,
		Args:              raceArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return r.run(cmd) },
	}
	r.flags.add(a, cmd)
	r.addEnd(cmd)
	cmd.AddCommand(raceListVerb(a), raceShowVerb(a), raceWatchVerb(a), raceDiffVerb(a), raceLogVerb(a),
		raceCompareVerb(a), raceApplyVerb(a), raceCancelVerb(a), raceRerunVerb(a), raceRemoveVerb(a))
	for _, verb := range cmd.Commands() {
		verb.DisableFlagsInUseLine = true
	}
	return cmd
}

// raceArgs takes none: what is there is a verb that race does not have, or a
// command line that was meant for --try.
func raceArgs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return forkbox.Errorf(forkbox.Invalid, "understand the command line", "race has no %q", args[0]).
		Hint("it has ls, show, watch, diff, log, compare, apply, cancel, rerun and rm").
		Hint("what to try is a flag: --try NAME=CMD")
}

// racer runs a race and says what came of it.
type racer struct {
	*app.App
	flags              raceFlags
	apply, yes, detach bool
}

// addEnd adds what happens when the race has begun, or ended.
func (r *racer) addEnd(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.apply, "apply", false, "land the winner, if there is one")
	cmd.Flags().BoolVarP(&r.yes, "yes", "y", false, "with --apply: yes to every question")
	cmd.Flags().BoolVarP(&r.detach, "detach", "d", false, "print the name of the race and let it run")
}

func (r *racer) checkEnd() error {
	switch {
	case r.detach && r.apply:
		return errors.New("--detach and --apply exclude each other")
	case r.yes && !r.apply:
		return errors.New("--yes needs --apply")
	}
	return nil
}

func (r *racer) run(cmd *cobra.Command) error {
	if err := r.checkEnd(); err != nil {
		return err
	}
	spec, err := r.flags.plan(cmd)
	if err != nil {
		return err
	}
	c := r.Client()
	defer c.Close()
	if err := r.flags.begin(cmd.Context(), r.App, c, &spec); err != nil {
		return err
	}
	r.flags.box.Net.Warn(r.App)
	return r.race(cmd.Context(), c, spec)
}

func (r *racer) race(ctx context.Context, c *client.Client, spec forkbox.RaceSpec) error {
	if r.detach {
		return r.leave(ctx, c, spec)
	}
	race, err := watchRace(ctx, r.App, cancelsRace, func(ctx context.Context, take raceTake) (forkbox.Race, error) {
		return c.Race(ctx, spec, take)
	})
	if err != nil {
		return raceLost(race, err)
	}
	if !r.apply || race.Winner == "" {
		return cmp.Or(showResult(r.App, race), raceExit(r.App, race))
	}
	if err := printResult(r.App, race); err != nil {
		return err
	}
	l := &raceLander{Lander: change.Lander{App: r.App}}
	return l.landWinner(ctx, c, race, r.yes)
}

// leave starts a race that goes on by itself.
func (r *racer) leave(ctx context.Context, c *client.Client, spec forkbox.RaceSpec) error {
	race, err := c.StartRace(ctx, spec)
	if err != nil {
		return raceLost(race, err)
	}
	if r.JSON {
		return printRaceJSON(r.App, race)
	}
	_, err = fmt.Fprintln(r.Stdout, terminal.Printable(race.Name))
	return err
}

// raceLost says where a race is to be found whose daemon went away, which may
// have begun all the same, unless no daemon ever heard of it.
func raceLost(race forkbox.Race, err error) error {
	if race.ID == "" && neverAsked(err) {
		return err
	}
	return app.Advise(err, forkbox.Unavailable, "race ls", "whether it has begun, and goes on, is in: forkbox race ls")
}

// neverAsked says whether there was no daemon to ask.
func neverAsked(err error) bool {
	var e *forkbox.Error
	var lost *net.OpError
	return errors.As(err, &lost) && lost.Op == "dial" ||
		errors.As(err, &e) && (e.Op == "start the daemon" || e.Op == "make the home of forkbox")
}

// merge has the words of a race file count as if they were flags, where no flag
// says otherwise.
func (f *raceFlags) merge(start forkbox.RaceStart) { f.box.Merge(start) }
