package box

import (
	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
)

func StartVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "start BOX…",
		Short: "Keep a box running",
		Long: `Wake a box and keep it running until it is stopped. There is seldom a need to:
exec and shell wake a box by themselves, and it goes to rest when nothing runs
in it.`,
		Example:           "  forkbox start try",
		Args:              app.Needs(1, "a box: forkbox start BOX…"),
		ValidArgsFunction: a.CompleteBoxes(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			return eachBox(a, args, "starting", func(ref string) (forkbox.Box, error) { return c.Start(cmd.Context(), ref) })
		},
	}
}
