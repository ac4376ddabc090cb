package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// ExitCode reports err and says what to exit with.
func (a *App) ExitCode(verb *cobra.Command, err error) int {
	var status terminal.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	e := AsError(verb, err)
	a.Report(e)
	return e.Code.ExitCode()
}

// AsError takes an error without a code for one of the command line's: the
// client's and our own all have one.
func AsError(verb *cobra.Command, err error) *forkbox.Error {
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

// Report prints an error on stderr, where a script's data is not.
func (a *App) Report(e *forkbox.Error) {
	if a.JSON {
		json.NewEncoder(a.Stderr).Encode(api.ErrorBody{Error: e})
		return
	}
	fmt.Fprintf(a.Stderr, "%s %s\n", a.Paint(terminal.Red, "error:"), inLines(e.Error()))
	a.ListItems(e.Items)
	for _, hint := range e.Hints {
		fmt.Fprintf(a.Stderr, "%s %s\n", a.Paint(terminal.Bold, "hint:"), terminal.Printable(hint))
	}
}

// shownItems is how many paths of an error fit on a screen or two; --json has
// them all.
const shownItems = 100

// ListItems names the paths that something is about, each with its reason.
func (a *App) ListItems(items []forkbox.Caution) {
	at := a.Here()
	for i, item := range items {
		if i == shownItems {
			a.Say("  and %d more", len(items)-i)
			return
		}
		a.Say("  %s: %s", terminal.Printable(at.Show(item.Path)), terminal.Printable(item.Why))
	}
}

// Advise adds a hint to an error of a code, unless one of its own says it.
func Advise(err error, code forkbox.Code, flag, format string, args ...any) error {
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

// Each does the same to several, reports what fails, and goes on.
func (a *App) Each(refs []string, do func(ref string) error) error {
	worst := 0
	for _, ref := range refs {
		var e *forkbox.Error
		if err := forkbox.Wrap("do this to box "+ref, do(ref)); errors.As(err, &e) {
			a.Report(e)
			worst = max(worst, e.Code.ExitCode())
		}
	}
	if worst > 0 {
		return terminal.ExitStatus(worst)
	}
	return nil
}

// Needs is like cobra's own, in our words.
func Needs(least int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least {
			return fmt.Errorf("%s needs %s", cmd.Name(), what)
		}
		return nil
	}
}

// Alone is for a verb that takes flags only; way is how to say it, if there is one.
func Alone(way string) cobra.PositionalArgs {
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

// Exactly is needs with no more than that.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%s needs %s, and nothing else", cmd.Name(), what)
		}
		return nil
	}
}

// Between is needs with a limit.
func Between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > most {
			return fmt.Errorf("%s needs %s, and nothing else", cmd.Name(), what)
		}
		return Needs(least, what)(cmd, args)
	}
}

// SomeFailed is what fork exits with when not all children were made.
const SomeFailed = terminal.ExitStatus(1)

// inLines has the last lines that a command said, where an error ends with them, on
// lines of their own. They are indented, so that none is taken for one of forkbox's.
func inLines(text string) string {
	head, rest, more := strings.Cut(text, forkbox.SaidLast)
	if !more {
		return terminal.Printable(text)
	}
	shown := terminal.Printable(head) + ":"
	for line := range strings.SplitSeq(rest, "\n") {
		shown += "\n  " + terminal.Printable(strings.TrimSpace(line))
	}
	return shown
}
