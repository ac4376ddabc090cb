package box

import (
	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
)

func PauseVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "pause BOX…",
		Short: "Have everything in a box stand still",
		Long: `Have all processes of a box stand still, until forkbox resume. They keep their
memory, and get no processor. Nothing can be run in it meanwhile; its time goes on.`,
		Example:           "  forkbox pause try\n  forkbox pause try other",
		Args:              app.Needs(1, "a box: forkbox pause BOX…"),
		ValidArgsFunction: a.CompleteBoxes(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			defer c.Close()
			return eachBox(a, args, "pausing", func(ref string) (forkbox.Box, error) { return c.Pause(cmd.Context(), ref) })
		},
	}
}

func ResumeVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "resume BOX…",
		Short: "Have a paused box go on",
		Long: `Have a box go on that was paused, by forkbox pause or because it met its limit of
disk. In that case give it more first, or it is paused again.`,
		Example:           "  forkbox resume try\n  forkbox set try --disk 10g && forkbox resume try",
		Args:              app.Needs(1, "a box: forkbox resume BOX…"),
		ValidArgsFunction: a.CompleteBoxes(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			defer c.Close()
			return eachBox(a, args, "resuming", func(ref string) (forkbox.Box, error) { return c.Resume(cmd.Context(), ref) })
		},
	}
}
