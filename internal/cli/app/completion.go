package app

import (
	"context"
	"fmt"
	"time"

	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

// CompleteBoxes offers the names of boxes, up to most arguments; 0 is no limit.
func (a *App) CompleteBoxes(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
		defer cancel()
		boxes, err := a.ShyClient().Boxes(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, box := range boxes {
			names = append(names, box.Name+"\t"+string(box.State)+", "+terminal.Ago(box.Created))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteBoxThenPaths offers boxes first, and then files as the shell does.
func (a *App) CompleteBoxThenPaths(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.CompleteBoxes(1)(cmd, args, word)
}

// CompleteReceipts offers ids of receipts, with what they are.
func (a *App) CompleteReceipts(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	receipts, err := a.ShyClient().Receipts(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []string
	for _, r := range receipts {
		ids = append(ids, fmt.Sprintf("%s\t%s of %s, %s", r.ID, terminal.Plural(r.Paths, "path"), r.BoxName, terminal.Ago(r.Created)))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
