package app

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// WithSubverbs makes a verb of which only the sub-verbs do something: without one,
// or with a word that is none, it says which there are.
func WithSubverbs(cmd *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	var names []string
	for _, verb := range verbs {
		verb.DisableFlagsInUseLine = true
		names = append(names, verb.Name())
	}
	cmd.AddCommand(verbs...)
	last := len(names) - 1
	known := strings.Join(names[:last], ", ") + " and " + names[last]
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s needs one of %s", cmd.Name(), known)
		}
		return fmt.Errorf("%s has no %q: it needs one of %s", cmd.Name(), args[0], known)
	}
	return cmd
}
