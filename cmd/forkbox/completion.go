package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// completeBoxes offers the names of boxes, up to most arguments; 0 is no limit.
func (a *app) completeBoxes(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
		defer cancel()
		boxes, err := a.shyClient().Boxes(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, box := range boxes {
			names = append(names, box.Name+"\t"+string(box.State)+", "+ago(box.Created))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeBoxThenPaths offers boxes first, and then files as the shell does.
func (a *app) completeBoxThenPaths(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.completeBoxes(1)(cmd, args, word)
}

// completeReceipts offers ids of receipts, with what they are.
func (a *app) completeReceipts(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	receipts, err := a.shyClient().Receipts(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []string
	for _, r := range receipts {
		ids = append(ids, fmt.Sprintf("%s\t%s of %s, %s", r.ID, plural(r.Paths, "path"), r.BoxName, ago(r.Created)))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
