package box

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func LsVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List your boxes",
		Long: `List your boxes, oldest first. Those of other users are not shown. A box is stale
when another one landed a path that it changed as well: forkbox show says which, and
forkbox sync brings it up to date. STATE also says that a box is paused, when its
time is up, and what it last died of where nobody asked for that. NET is what it may
reach; forkbox net show has the rules.`,
		Example:           "  forkbox ls\n  forkbox ls --json | jq -r '.boxes[].name'",
		Args:              app.Alone("what is known of one box: forkbox show %s"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			boxes, err := a.Client().Boxes(cmd.Context())
			if err != nil {
				return err
			}
			return a.List(api.BoxList{Boxes: boxes}, len(boxes), "no boxes yet; make one: forkbox new", "NAME\tID\tSTATE\tNET\tCREATED\tDIRECTORY", func(w io.Writer) { writeBoxes(w, boxes) })
		},
	}
}

func writeBoxes(w io.Writer, boxes []forkbox.Box) {
	for _, b := range boxes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", b.Name, b.ID, describe.State(b), describe.Net(b), terminal.Ago(b.Created), terminal.Printable(b.Dir))
	}
}
