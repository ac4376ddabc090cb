// Package cli is the command line: the table of verbs, help, the manual,
// completion. A noun's verbs are in the package of that name below it; what they
// share is in app (the client, errors, completion), flags (what is asked of a
// new box), describe (the words for boxes, exits and networks), terminal (all
// that is drawn or asked) and stdio (terminals and pipes of commands).
package cli

import (
	"context"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/access"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
)

// asksJSON looks for --json by hand, because a command line that cannot be
// parsed is also reported the way that was asked for.
func asksJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// Run is the command line of forkbox, and returns what to exit with. release is
// the version that the build was given, if any.
func Run(ctx context.Context, release string, args []string) int {
	// A command line waits; handing its few goroutines from thread to thread
	// costs more than it could gain. The daemon takes all processors again.
	runtime.GOMAXPROCS(1)
	a := app.New(release, args, os.Stdout, os.Stderr)
	root := root(a)
	if len(a.Args) > 0 {
		root.SetArgs(takeHost(a, a.Args[1:]))
	}
	verb, err := root.ExecuteContextC(ctx)
	return a.ExitCode(verb, err)
}

// takeHost reads --host before the verb. There it is the daemon's, also before
// secret set, which has a --host of its own that would take it for one of the
// secret's.
func takeHost(a *app.App, args []string) []string {
	var before []string
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "--" {
		value, joined := strings.CutPrefix(args[0], "--host=")
		switch {
		case joined:
			a.Host, args = value, args[1:]
		case args[0] == "--host" && len(args) > 1:
			a.Host, args = args[1], args[2:]
		default:
			before, args = append(before, args[0]), args[1:]
		}
	}
	return append(before, args...)
}

// The groups of `forkbox help`.
const (
	groupStart   = "start"
	groupLook    = "look"
	groupNet     = "network"
	groupLand    = "land"
	groupSave    = "save"
	groupManage  = "manage"
	groupMachine = "machine"
)

// Root is the whole command line, for pages that are checked against it.
func Root() *cobra.Command {
	return root(app.New("", []string{"forkbox"}, io.Discard, io.Discard))
}

func root(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "forkbox",
		Short: "Fork your machine, break the copy, keep what is good",
		Long: `forkbox forks your machine: a copy-on-write clone with the same files, packages,
configuration and environment, in milliseconds. What runs in a box changes the
box and nothing else.`,
		Example: `  forkbox run -- npm update        run it on a clone and see what it did
  forkbox new --name try           a box to work in
  forkbox shell try                a shell in it
  forkbox diff try                 what differs from reality
  forkbox apply try                land it, whole
  forkbox undo                     or take that back
  forkbox race --try … --try …     several ways at once, the best one wins
  forkbox snapshot try             a point to go back to
  forkbox rollback try             as it was then
  forkbox rm try                   as if it had never been`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              unknownVerb,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(func(verb *cobra.Command, err error) error {
		a.JSON = asksJSON(a.Args) // the flag may stand after the one that is wrong
		return flagError(verb, err)
	})
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "print one JSON document; errors are JSON on stderr")
	root.PersistentFlags().StringVar(&a.Host, "host", "", "the daemon to use: a `URL`, a context, or local")
	root.RegisterFlagCompletionFunc("host", access.CompleteContexts)
	root.AddGroup(
		&cobra.Group{ID: groupStart, Title: "Start here:"},
		&cobra.Group{ID: groupLook, Title: "Look:"},
		&cobra.Group{ID: groupNet, Title: "Network:"},
		&cobra.Group{ID: groupLand, Title: "Land:"},
		&cobra.Group{ID: groupSave, Title: "Save, fork and share:"},
		&cobra.Group{ID: groupManage, Title: "Manage:"},
		&cobra.Group{ID: groupMachine, Title: "Machine:"},
	)
	root.SetHelpCommandGroupID(groupMachine)
	addVerbs(a, root)
	root.SetHelpCommand(helpVerb(root))
	return root
}

func unknownVerb(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	e := forkbox.Errorf(forkbox.Invalid, "understand the command line", "there is no verb %q", args[0])
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		e.Hint("did you mean: %s", strings.Join(near, ", "))
	}
	return e.Hint("see: forkbox help")
}
