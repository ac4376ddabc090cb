package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) newVerb() *cobra.Command {
	var flags boxFlags
	cmd := &cobra.Command{
		Use:   "new [--name N] [--from reality] [--net none|host] [--allow-secrets X]…",
		Short: "Make a box: a clone of this machine to work in",
		Long: `Make a box and print its name. It is a clone of this machine as it is now, in the
current directory and with the current environment. Nothing runs in it yet, and
it costs nothing but what will change in it.`,
		Example: `  forkbox new --name try
  box=$(forkbox new --net host)`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			box, err := a.client().Create(cmd.Context(), flags.request())
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(box)
			}
			_, err = fmt.Fprintln(a.stdout, box.Name)
			return err
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&flags.from, "from", "reality", "what to fork")
	cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions([]string{"reality"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
