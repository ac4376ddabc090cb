package network

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func netExplainVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "explain BOX URL|HOST[:PORT]|ADDRESS",
		Short: "Say whether a box may reach something, and why",
		Long: `Say what the gate of a box would make of a connection: the rule that decides, who
wrote it, and what would allow what is refused. Nothing is connected to. The exit
code is 0 for what is allowed and 1 for what is refused.`,
		Example: `  forkbox net explain try https://git.example.com/team/project
  forkbox net explain try db.example.com:5432
  forkbox net explain try 10.0.0.7`,
		Args:              app.Exactly(2, "a box and where to: forkbox net explain BOX HOST[:PORT]"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return explainNet(cmd.Context(), a, args[0], args[1])
		},
	}
}

// refusedExit is what explain exits with for what the box may not reach.
const refusedExit = terminal.ExitStatus(1)

func explainNet(ctx context.Context, a *app.App, ref, target string) error {
	verdict, err := a.Client().Explain(ctx, ref, target)
	if err != nil {
		return err
	}
	if a.JSON {
		err = a.PrintJSON(verdict)
	} else {
		err = a.Table("", func(w io.Writer) { writeVerdict(w, verdict) })
	}
	if err == nil && !verdict.Allowed {
		return refusedExit
	}
	return err
}

func writeVerdict(w io.Writer, v forkbox.NetVerdict) {
	word := "refused"
	if v.Allowed {
		word = "allowed"
	}
	for _, row := range [][2]string{
		{word, describe.Target(v.Target)}, {"request", requestText(v.Target)}, {"rule", ruleFrom(v.Rule)},
		{"why", terminal.Printable(v.Why)}, {"remedy", terminal.Printable(v.Remedy)},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
}

// requestText is what is asked for, where a single request is meant.
func requestText(t forkbox.NetTarget) string {
	return strings.TrimSpace(describe.PlainWord(t.Method) + " " + describe.PlainWord(t.Path))
}

func ruleFrom(r forkbox.NetRule) string {
	if r.Rule == "" {
		return ""
	}
	return terminal.Printable(r.Rule) + "  (" + terminal.Printable(r.From) + ")"
}
