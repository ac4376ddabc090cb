package main

import (
	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
)

func (a *app) keepVerb() *cobra.Command {
	var off bool
	cmd := &cobra.Command{
		Use:   "keep [--off] BOX…",
		Short: "Have gc leave a box alone",
		Long: `Keep a box for good: neither forkbox gc nor the daemon clears it away, however old
it is. forkbox rm still removes it. With --off it is a box like the others again.`,
		Example:           "  forkbox keep try\n  forkbox keep --off try",
		Args:              needs(1, "a box: forkbox keep BOX…"),
		ValidArgsFunction: a.completeBoxes(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.client()
			defer c.Close()
			return a.eachBox(args, "keeping", func(ref string) (forkbox.Box, error) { return c.Keep(cmd.Context(), ref, !off) })
		},
	}
	cmd.Flags().BoolVar(&off, "off", false, "gc may clear it away again")
	return cmd
}
