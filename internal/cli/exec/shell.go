package exec

import (
	"os"

	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
)

func ShellVerb(a *app.App) *cobra.Command {
	var flags execFlags
	cmd := &cobra.Command{
		Use:   "shell [-e K=V] [-w DIR] [-u USER] [limits] BOX",
		Short: "Open a shell in a box",
		Long: `Open your shell ($SHELL) in a box, in the current directory. A box at rest wakes
for it. When the shell ends, what it left running goes on; the box goes to rest
when nothing runs in it.

With --json the exec is on stdout when the shell has ended, and the shell's own
output goes to stderr.`,
		Example:           "  forkbox shell try\n  forkbox shell -u root try",
		Args:              app.Exactly(1, "a box: forkbox shell BOX"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := flags.request([]string{callersShell()})
			if err != nil {
				return err
			}
			return attach(cmd.Context(), a, args[0], req, true, ttyAuto)
		},
	}
	flags.add(cmd)
	flags.addLimits(cmd)
	cmd.Flags().SetInterspersed(true) // there is no command whose flags these could be
	cmd.Flags().StringVarP(&flags.user, "user", "u", "", "run as this `user` of the box")
	return cmd
}

func callersShell() string {
	if shell := os.Getenv("SHELL"); shell != "" {
		return shell
	}
	return "/bin/sh"
}
