package box

import (
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
)

func StopVerb(a *app.App) *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "stop [-t D] BOX…",
		Short: "End everything that runs in a box",
		Long: `End every process in a box: TERM, a grace, KILL. The box is then at rest: it keeps
its changes and costs nothing else.`,
		Example:           "  forkbox stop try\n  forkbox stop -t 0s try other",
		Args:              app.Needs(1, "a box: forkbox stop BOX…"),
		ValidArgsFunction: a.CompleteBoxes(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			var wait *time.Duration
			if cmd.Flags().Changed("time") {
				wait = &grace
			}
			c := a.Client()
			return eachBox(a, args, "stopping", func(ref string) (forkbox.Box, error) { return c.Stop(cmd.Context(), ref, wait) })
		},
	}
	cmd.Flags().DurationVarP(&grace, "time", "t", 0, "grace between TERM and KILL (default: the daemon's)")
	return cmd
}

// eachBox does something to several boxes and shows what became of them.
func eachBox(a *app.App, refs []string, doing string, do func(ref string) (forkbox.Box, error)) error {
	boxes := []forkbox.Box{}
	failed := a.Each(refs, func(ref string) error {
		defer a.Progress(doing + " " + ref)()
		box, err := do(ref)
		if err == nil {
			boxes = append(boxes, box)
		}
		return err
	})
	if a.JSON {
		if err := a.PrintJSON(client.BoxList{Boxes: boxes}); err != nil {
			return err
		}
	}
	return failed
}
