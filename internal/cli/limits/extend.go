package limits

import (
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/spf13/cobra"
)

func ExtendVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "extend BOX TIME",
		Short: "Give a box more time",
		Long: `Have a box end later by TIME than it would: its --ttl counts on. One whose time is
up already gets TIME from now on, and can be used again.`,
		Example:           "  forkbox extend try 30m\n  forkbox extend try 1d",
		Args:              app.Exactly(2, "a box and a time: forkbox extend BOX 30m"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := forkbox.ParseLimit(forkbox.TTL, args[1])
			if err == nil && by == forkbox.Unlimited {
				err = forkbox.Errorf(forkbox.Invalid, "extend box "+args[0], "%s is no time", args[1]).
					Hint("to let it live on: forkbox set %s --ttl unlimited", args[0])
			}
			if err != nil {
				return err
			}
			box, err := a.Client().Extend(cmd.Context(), args[0], time.Duration(by))
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(box)
			}
			a.Say("%s %s", box.Name, describe.Ends(box.Ends))
			return nil
		},
	}
}
