package network

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func netShowVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "show BOX",
		Aliases: []string{"ls"},
		Short:   "Show what a box may reach",
		Long: `Show the network of a box: its rules in the order in which they are asked, with who
wrote each; the ports of the host that it may reach, its team, the secrets that it
may use, by name, and the ports that are published. The host's own floor holds
beside the rules: forkbox net explain asks both.`,
		Example:           "  forkbox net show try\n  forkbox net show try --json | jq -r '.rules[].rule'",
		Args:              app.Exactly(1, "a box: forkbox net show BOX"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return showNet(cmd.Context(), a, args[0]) },
	}
}

func showNet(ctx context.Context, a *app.App, ref string) error {
	doc, err := a.Client().Net(ctx, ref)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(doc)
	}
	err = a.Table("", func(w io.Writer) {
		for _, row := range netRows(doc) {
			if row[1] != "" {
				fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
			}
		}
	})
	if err != nil || doc.Net != forkbox.NetPolicy {
		return err
	}
	fmt.Fprintln(a.Stdout)
	return a.Table("RULE\tFROM", func(w io.Writer) { writeRules(w, doc.Rules) })
}

func netRows(doc api.NetDocument) [][2]string {
	rows := [][2]string{
		{"box", terminal.Printable(doc.Name)}, {"network", modeText(doc.Net)}, {"preset", doc.Preset}, {"team", terminal.Printable(doc.Team)},
		{"host ports", terminal.JoinPorts(doc.HostPorts)}, {"secrets", describe.SecretNames(doc.Network)},
		{"looks into", terminal.PrintableList(doc.Terminate)}, {"never looks into", terminal.PrintableList(doc.Pinned)},
	}
	if len(doc.HostPorts) > 0 {
		rows[4][1] += ", as " + forkbox.HostName
	}
	for _, port := range doc.Ports {
		rows = append(rows, [2]string{"published", describe.Port(port)})
	}
	return rows
}

func modeText(net forkbox.Net) string {
	switch net {
	case forkbox.NetNone:
		return "none: its own loopback, and nothing else"
	case forkbox.NetPolicy:
		return "policy: its own loopback, and what rules allow"
	case forkbox.NetHost:
		return "host: shared with the host, and no rule holds"
	}
	return terminal.Printable(string(net))
}

func writeRules(w io.Writer, rules []forkbox.NetRule) {
	for _, r := range rules {
		fmt.Fprintf(w, "%s\t%s\n", terminal.Printable(r.Rule), terminal.Printable(r.From))
	}
	fmt.Fprintln(w, "deny all else\tdefault")
}
