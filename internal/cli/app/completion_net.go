package app

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

// CompleteNets offers the kinds of network, and the teams that there are.
func (a *App) CompleteNets(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	words := []string{"none\tloopback only", "policy\twhat rules allow", "host\tshared with the host"}
	ctx, cancel := context.WithTimeout(cmd.Context(), CompletionPatience)
	defer cancel()
	boxes, _ := a.ShyClient().Boxes(ctx)
	for _, box := range boxes {
		if word := forkbox.TeamPrefix + box.Network.Team + "\tteam"; box.Network.Team != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words, NoFiles
}

// CompleteSecrets offers the names of secrets, up to most arguments; 0 is no
// limit.
func (a *App) CompleteSecrets(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, NoFiles
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), CompletionPatience)
		defer cancel()
		list, err := a.ShyClient().Secrets(ctx)
		if err != nil {
			return nil, NoFiles
		}
		var names []string
		for _, s := range list {
			names = append(names, s.Name+"\tfor "+terminal.PrintableList(s.Hosts))
		}
		return names, NoFiles
	}
}

// CompleteBoxThenRules offers a box, and then those of its rules that can be
// taken away.
func (a *App) CompleteBoxThenRules(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.CompleteBoxes(1)(cmd, args, word)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), CompletionPatience)
	defer cancel()
	doc, err := a.ShyClient().Net(ctx, args[0])
	if err != nil {
		return nil, NoFiles
	}
	var rules []string
	for _, r := range doc.Rules {
		if r.From == OwnRule {
			rules = append(rules, r.Rule)
		}
	}
	return rules, NoFiles | cobra.ShellCompDirectiveKeepOrder
}

// OwnRule is who wrote a rule that was said for one box.
const OwnRule = "box"
