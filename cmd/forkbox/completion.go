package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) completionVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a completion script for your shell",
		Long: `Print a completion script for your shell. It completes verbs, flags and the names
of boxes, snapshots, templates and receipts; it never starts a daemon.`,
		Example: `  source <(forkbox completion bash)
  forkbox completion zsh > "${fpath[1]}/_forkbox"
  forkbox completion fish > ~/.config/fish/completions/forkbox.fish`,
		Args:      cobra.MatchAll(exactly(1, "the name of a shell: bash, zsh or fish"), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !a.json {
				return writeCompletion(cmd.Root(), args[0], a.stdout)
			}
			var script bytes.Buffer
			if err := writeCompletion(cmd.Root(), args[0], &script); err != nil {
				return err
			}
			return a.printJSON(map[string]string{"shell": args[0], "script": script.String()})
		},
	}
}

func writeCompletion(root *cobra.Command, shell string, w io.Writer) error {
	switch shell {
	case "bash":
		return writeBashCompletion(root, w)
	case "zsh":
		return root.GenZshCompletion(w)
	default:
		return root.GenFishCompletion(w, true)
	}
}

// writeBashCompletion takes the @ of BOX@SNAPSHOT for a part of a word, which
// bash does not, as cobra's script does it for : and =.
func writeBashCompletion(root *cobra.Command, w io.Writer) error {
	var script bytes.Buffer
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	const handled = "__forkbox_handle_special_char \"$cur\" :\n"
	text := strings.ReplaceAll(script.String(), "_init_completion -n =:", "_init_completion -n =:@")
	text = strings.ReplaceAll(text, handled, handled+"    __forkbox_handle_special_char \"$cur\" @\n")
	_, err := io.WriteString(w, text)
	return err
}

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
