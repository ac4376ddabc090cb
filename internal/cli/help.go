package cli

import (
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

// helpVerb is cobra's, but that it fails for what is no command.
func helpVerb(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show what a command does",
		GroupID: groupMachine,
		RunE: func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return forkbox.Errorf(forkbox.Invalid, "show help", "there is no command %s", terminal.Printable(strings.Join(args, " "))).
					Hint("forkbox help lists all")
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
			if found, _, err := root.Find(args); err == nil {
				for _, sub := range found.Commands() {
					if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), begun) {
						names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}
