package box

import (
	"context"
	"fmt"
	"io"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// showPolicy lists the limits that hold, if any.
func showPolicy(a *app.App, policy forkbox.Policy) error {
	if len(policy) == 0 {
		return nil
	}
	fmt.Fprintln(a.Stdout)
	return a.Table("LIMIT\tVALUE\tFROM\tHOW", func(w io.Writer) { writePolicy(w, policy) })
}

func writePolicy(w io.Writer, policy forkbox.Policy) {
	for _, r := range forkbox.Resources {
		if rule, has := policy[r]; has {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r, forkbox.FormatLimit(r, rule.Value), terminal.Printable(rule.From), describe.How(rule))
		}
	}
}

// wouldLimit shows what a box would get that is made here.
func wouldLimit(ctx context.Context, a *app.App) error {
	wish, err := flags.WithProject(forkbox.Wish{BestEffort: true}) // it only shows what holds, and how
	if err != nil {
		return err
	}
	policy, err := a.Client().Policy(ctx, wish)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(client.PolicyDocument{Policy: policy})
	}
	if len(policy) == 0 {
		a.Say("a box would have no limits")
		return nil
	}
	return a.Table("LIMIT\tVALUE\tFROM\tHOW", func(w io.Writer) { writePolicy(w, policy) })
}

func deathText(death *forkbox.Exit) string {
	if death == nil {
		return ""
	}
	return describe.Exit(death)
}
