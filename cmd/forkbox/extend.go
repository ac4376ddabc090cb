package main

import (
	"time"

	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
)

func (a *app) extendVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "extend BOX TIME",
		Short: "Give a box more time",
		Long: `Have a box end later by TIME than it would: its --ttl counts on. One whose time is
up already gets TIME from now on, and can be used again.`,
		Example:           "  forkbox extend try 30m\n  forkbox extend try 1d",
		Args:              exactly(2, "a box and a time: forkbox extend BOX 30m"),
		ValidArgsFunction: a.completeBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := forkbox.ParseLimit(forkbox.TTL, args[1])
			if err == nil && by == forkbox.Unlimited {
				err = forkbox.Errorf(forkbox.Invalid, "extend box "+args[0], "%s is no time", args[1]).
					Hint("to let it live on: forkbox set %s --ttl unlimited", args[0])
			}
			if err != nil {
				return err
			}
			box, err := a.client().Extend(cmd.Context(), args[0], time.Duration(by))
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(box)
			}
			a.say("%s %s", box.Name, endsText(box.Ends))
			return nil
		},
	}
}
