package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

// exitCode reports err and says what to exit with.
func (a *app) exitCode(verb *cobra.Command, err error) int {
	var status exitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	e := asError(verb, err)
	a.report(e)
	return e.Code.ExitCode()
}

// asError takes an error without a code for one of the command line's: the
// client's and our own all have one.
func asError(verb *cobra.Command, err error) *forkbox.Error {
	var e *forkbox.Error
	if errors.As(err, &e) {
		return e
	}
	var write *fs.PathError
	if errors.As(err, &write) && write.Op == "write" && write.Path == os.Stdout.Name() {
		errors.As(forkbox.Wrap("print", err), &e)
		return e
	}
	return forkbox.Errorf(forkbox.Invalid, "understand the command line", "%w", err).
		Hint("see: %s --help", verb.CommandPath())
}

// report prints an error on stderr, where a script's data is not.
func (a *app) report(e *forkbox.Error) {
	if a.json {
		json.NewEncoder(a.stderr).Encode(client.ErrorBody{Error: e})
		return
	}
	fmt.Fprintf(a.stderr, "%s %s\n", a.paint(red, "error:"), printable(e.Error()))
	a.listItems(e.Items)
	for _, hint := range e.Hints {
		fmt.Fprintf(a.stderr, "%s %s\n", a.paint(bold, "hint:"), printable(hint))
	}
}

// shownItems is how many paths of an error fit on a screen or two; --json has
// them all.
const shownItems = 100

// listItems names the paths that something is about, each with its reason.
func (a *app) listItems(items []forkbox.Caution) {
	at := here()
	for i, item := range items {
		if i == shownItems {
			a.say("  and %d more", len(items)-i)
			return
		}
		a.say("  %s: %s", printable(at.show(item.Path)), printable(item.Why))
	}
}

// advise adds a hint to an error of a code, unless one of its own says it.
func advise(err error, code forkbox.Code, flag, format string, args ...any) error {
	var e *forkbox.Error
	if !errors.As(err, &e) || e.Code != code {
		return err
	}
	for _, hint := range e.Hints {
		if strings.Contains(hint, flag) {
			return err
		}
	}
	return e.Hint(format, args...)
}

// each does the same to several, reports what fails, and goes on.
func (a *app) each(refs []string, do func(ref string) error) error {
	worst := 0
	for _, ref := range refs {
		var e *forkbox.Error
		if err := forkbox.Wrap("do this to box "+ref, do(ref)); errors.As(err, &e) {
			a.report(e)
			worst = max(worst, e.Code.ExitCode())
		}
	}
	if worst > 0 {
		return exitStatus(worst)
	}
	return nil
}

// needs is like cobra's own, in our words.
func needs(least int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least {
			return fmt.Errorf("%s needs %s", cmd.Name(), what)
		}
		return nil
	}
}

// alone is for a verb that takes flags only; way is how to say it, if there is one.
func alone(way string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		e := forkbox.Errorf(forkbox.Invalid, "understand the command line", "%s takes no arguments, and %q is one", cmd.Name(), args[0])
		if way != "" {
			e.Hint(way, args[0])
		}
		return e.Hint("see: %s --help", cmd.CommandPath())
	}
}

// exactly is needs with no more than that.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%s needs %s, and nothing else", cmd.Name(), what)
		}
		return nil
	}
}

// between is needs with a limit.
func between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > most {
			return fmt.Errorf("%s needs %s, and nothing else", cmd.Name(), what)
		}
		return needs(least, what)(cmd, args)
	}
}

// someFailed is what fork exits with when not all children were made.
const someFailed = exitStatus(1)
