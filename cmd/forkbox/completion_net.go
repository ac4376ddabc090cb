package main

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
)

// completeNets offers the kinds of network, and the teams that there are.
func (a *app) completeNets(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	words := []string{"none\tloopback only", "policy\twhat rules allow", "host\tshared with the host"}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	boxes, _ := a.shyClient().Boxes(ctx)
	for _, box := range boxes {
		if word := forkbox.TeamPrefix + box.Network.Team + "\tteam"; box.Network.Team != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words, noFiles
}

// completeSecrets offers the names of secrets, up to most arguments; 0 is no
// limit.
func (a *app) completeSecrets(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, noFiles
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		list, err := a.shyClient().Secrets(ctx)
		if err != nil {
			return nil, noFiles
		}
		var names []string
		for _, s := range list {
			names = append(names, s.Name+"\tfor "+printableList(s.Hosts))
		}
		return names, noFiles
	}
}

// completeBoxThenRules offers a box, and then those of its rules that can be
// taken away.
func (a *app) completeBoxThenRules(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeBoxes(1)(cmd, args, word)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	doc, err := a.shyClient().Net(ctx, args[0])
	if err != nil {
		return nil, noFiles
	}
	var rules []string
	for _, r := range doc.Rules {
		if r.From == ownRule {
			rules = append(rules, r.Rule)
		}
	}
	return rules, noFiles | cobra.ShellCompDirectiveKeepOrder
}

// ownRule is who wrote a rule that was said for one box.
const ownRule = "box"
