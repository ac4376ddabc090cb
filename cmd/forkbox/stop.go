package main

import (
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) stopVerb() *cobra.Command {
	var grace graceFlag
	cmd := &cobra.Command{
		Use:   "stop [-t D] BOX…",
		Short: "End everything that runs in a box",
		Long: `End every process in a box: TERM, a grace, KILL. The box is then at rest: it keeps
its changes and costs nothing else.`,
		Example:           "  forkbox stop try\n  forkbox stop -t 5 try other",
		Args:              needs(1, "a box: forkbox stop BOX…"),
		ValidArgsFunction: a.completeBoxes(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			var wait *time.Duration
			if grace.set {
				wait = &grace.span
			}
			c := a.client()
			return a.eachBox(args, "stopping", func(ref string) (forkbox.Box, error) { return c.Stop(cmd.Context(), ref, wait) })
		},
	}
	cmd.Flags().VarP(&grace, "time", "t", "grace between TERM and KILL (default: the daemon's)")
	return cmd
}

// eachBox does something to several boxes and shows what became of them.
func (a *app) eachBox(refs []string, doing string, do func(ref string) (forkbox.Box, error)) error {
	boxes := []forkbox.Box{}
	failed := a.each(refs, func(ref string) error {
		defer a.progress(doing + " " + ref)()
		box, err := do(ref)
		if err == nil {
			boxes = append(boxes, box)
		}
		return err
	})
	if a.json {
		if err := a.printJSON(client.BoxList{Boxes: boxes}); err != nil {
			return err
		}
	}
	return failed
}
