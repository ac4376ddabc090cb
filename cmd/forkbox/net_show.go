package main

import (
	"context"
	"fmt"
	"io"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) netShowVerb() *cobra.Command {
	return &cobra.Command{
		Use:     "show BOX",
		Aliases: []string{"ls"},
		Short:   "Show what a box may reach",
		Long: `Show the network of a box: its rules in the order in which they are asked, with who
wrote each; the ports of the host that it may reach, its team, the secrets that it
may use, by name, and the ports that are published. The host's own floor holds
beside the rules: forkbox net explain asks both.`,
		Example:           "  forkbox net show try\n  forkbox net show try --json | jq -r '.rules[].rule'",
		Args:              exactly(1, "a box: forkbox net show BOX"),
		ValidArgsFunction: a.completeBoxes(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.showNet(cmd.Context(), args[0]) },
	}
}

func (a *app) showNet(ctx context.Context, ref string) error {
	doc, err := a.client().Net(ctx, ref)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(doc)
	}
	err = a.table("", func(w io.Writer) {
		for _, row := range netRows(doc) {
			if row[1] != "" {
				fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
			}
		}
	})
	if err != nil || doc.Net != forkbox.NetPolicy {
		return err
	}
	fmt.Fprintln(a.stdout)
	return a.table("RULE\tFROM", func(w io.Writer) { writeRules(w, doc.Rules) })
}

func netRows(doc client.NetDocument) [][2]string {
	rows := [][2]string{
		{"box", printable(doc.Name)}, {"network", modeText(doc.Net)}, {"preset", doc.Preset}, {"team", printable(doc.Team)},
		{"host ports", joinPorts(doc.HostPorts)}, {"secrets", secretNames(doc.Network)},
		{"looks into", printableList(doc.Terminate)}, {"never looks into", printableList(doc.Pinned)},
	}
	if len(doc.HostPorts) > 0 {
		rows[4][1] += ", as " + forkbox.HostName
	}
	for _, port := range doc.Ports {
		rows = append(rows, [2]string{"published", portText(port)})
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
	return printable(string(net))
}

func writeRules(w io.Writer, rules []forkbox.NetRule) {
	for _, r := range rules {
		fmt.Fprintf(w, "%s\t%s\n", printable(r.Rule), printable(r.From))
	}
	fmt.Fprintln(w, "deny all else\tdefault")
}
