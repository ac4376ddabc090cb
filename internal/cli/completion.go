package cli

import (
	"bytes"
	"io"
	"strings"

	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
)

func completionVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a completion script for your shell",
		Long: `Print a completion script for your shell. It completes verbs, flags and the names
of boxes, snapshots, templates and receipts; it never starts a daemon.`,
		Example: `  source <(forkbox completion bash)
  forkbox completion zsh > "${fpath[1]}/_forkbox"
  forkbox completion fish > ~/.config/fish/completions/forkbox.fish`,
		Args:      cobra.MatchAll(app.Exactly(1, "the name of a shell: bash, zsh or fish"), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !a.JSON {
				return writeCompletion(cmd.Root(), args[0], a.Stdout)
			}
			var script bytes.Buffer
			if err := writeCompletion(cmd.Root(), args[0], &script); err != nil {
				return err
			}
			return a.PrintJSON(map[string]string{"shell": args[0], "script": script.String()})
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
