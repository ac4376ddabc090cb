package box

import (
	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
)

func KeepVerb(a *app.App) *cobra.Command {
	var off bool
	cmd := &cobra.Command{
		Use:   "keep [--off] BOX…",
		Short: "Have gc leave a box alone",
		Long: `Keep a box for good: neither forkbox gc nor the daemon clears it away, however old
it is. forkbox rm still removes it. With --off it is a box like the others again.`,
		Example:           "  forkbox keep try\n  forkbox keep --off try",
		Args:              app.Needs(1, "a box: forkbox keep BOX…"),
		ValidArgsFunction: a.CompleteBoxes(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			defer c.Close()
			return eachBox(a, args, "keeping", func(ref string) (forkbox.Box, error) { return c.Keep(cmd.Context(), ref, !off) })
		},
	}
	cmd.Flags().BoolVar(&off, "off", false, "gc may clear it away again")
	return cmd
}
