package main

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) rmVerb() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "rm [-f] BOX…",
		Short: "Remove a box with its changes",
		Long: `Remove a box with everything in it. There is no way back.

With -f also one that runs, and a box that is not there counts as removed.
Without -f both are errors.`,
		Example:           "  forkbox rm try\n  forkbox rm -f try other",
		Args:              needs(1, "a box: forkbox rm BOX…"),
		ValidArgsFunction: a.completeBoxes(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.client()
			boxes := []forkbox.Box{}
			failed := a.each(args, func(ref string) error {
				defer a.progress("removing " + ref)()
				box, err := a.remove(cmd.Context(), c, ref, force)
				if force && forkbox.CodeOf(err) == forkbox.NotFound {
					return nil
				}
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
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "also what runs or is not there")
	return cmd
}

// remove looks the box up first only where that is shown.
func (a *app) remove(ctx context.Context, c *client.Client, ref string, force bool) (box forkbox.Box, err error) {
	if a.json {
		if box, err = c.Box(ctx, ref); err != nil {
			return box, err
		}
		box.State = forkbox.Removing
		ref = box.ID
	}
	return box, c.Remove(ctx, ref, force)
}
