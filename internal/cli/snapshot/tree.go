package snapshot

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func TreeVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "tree",
		Short: "Draw what was forked from what",
		Long: `Draw your boxes, their snapshots and your templates: what was forked from a
snapshot is below it. A snapshot begins with an @; the one that its box stands on
has a * after its name. Where something was forked from what is gone since, it is
below (removed).`,
		Example:           "  forkbox tree\n  forkbox tree --json | jq '.boxes[] | {name, parent}'",
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return tree(cmd.Context(), a) },
	}
}

func tree(ctx context.Context, a *app.App) error {
	family, err := a.Client().Family(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(family)
	}
	roots := newPedigree(family).roots()
	if len(roots) == 0 {
		a.Say("no boxes yet; make one: forkbox new")
		return nil
	}
	lines := asciiLines
	if terminal.IsTerminal(a.Stdout) && localeIsUTF8() {
		lines = unicodeLines
	}
	_, err = io.WriteString(a.Stdout, drawTree(roots, lines))
	return err
}

// branch is a line of the tree, and what is below it.
type branch struct {
	text  string
	below []*branch
}

// treeLines are the four pieces that trees are drawn with.
type treeLines struct{ fork, last, pass, gap string }

var (
	unicodeLines = treeLines{"├─ ", "└─ ", "│  ", "   "}
	asciiLines   = treeLines{"|- ", "`- ", "|  ", "   "}
)

func drawTree(roots []*branch, lines treeLines) string {
	var out strings.Builder
	for _, root := range roots {
		out.WriteString(root.text + "\n")
		drawBelow(&out, root, "", lines)
	}
	return out.String()
}

func drawBelow(out *strings.Builder, b *branch, indent string, lines treeLines) {
	for i, child := range b.below {
		knot, under := lines.fork, lines.pass
		if i == len(b.below)-1 {
			knot, under = lines.last, lines.gap
		}
		out.WriteString(indent + knot + child.text + "\n")
		drawBelow(out, child, indent+under, lines)
	}
}

// localeIsUTF8 looks where C programs do, in their order.
func localeIsUTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(os.Getenv(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}
