package limits

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func QueueVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "queue",
		Short: "Show who waits for this host to have room",
		Long: `Show what waits because the host is full: its place, what it waits for, and until
when. Of other users only their places are shown. A high --priority comes before a
normal one, and that before a low one.`,
		Example:           "  forkbox queue\n  forkbox queue --json | jq '.waiting | length'",
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := a.Client().Queue(cmd.Context())
			if err != nil {
				return err
			}
			return a.List(api.Queue{Waiting: list}, len(list), "nobody waits", "PLACE\tPRIORITY\tSINCE\tUNTIL\tWHAT\tWHY", func(w io.Writer) { writeQueue(w, list) })
		},
	}
}

func writeQueue(w io.Writer, list []forkbox.Waiting) {
	for _, p := range list {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", p.Place, terminal.OrWord(string(p.Priority), string(forkbox.NormalPriority)),
			terminal.Ago(p.Since), untilText(p.Deadline), terminal.OrWord(terminal.Printable(p.What), "-"), terminal.OrWord(terminal.Printable(p.Why), "-"))
	}
}

func untilText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return "in " + describe.Span(time.Until(t))
}
