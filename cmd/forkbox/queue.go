package main

import (
	"fmt"
	"io"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) queueVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "queue",
		Short: "Show who waits for this host to have room",
		Long: `Show what waits because the host is full: its place, what it waits for, and until
when. Of other users only their places are shown. A high --priority comes before a
normal one, and that before a low one.`,
		Example:           "  forkbox queue\n  forkbox queue --json | jq '.waiting | length'",
		Args:              alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := a.client().Queue(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(client.Queue{Waiting: list})
			}
			if len(list) == 0 {
				a.say("nobody waits")
				return nil
			}
			return a.table("PLACE\tPRIORITY\tSINCE\tUNTIL\tWHAT\tWHY", func(w io.Writer) { writeQueue(w, list) })
		},
	}
}

func writeQueue(w io.Writer, list []forkbox.Waiting) {
	for _, p := range list {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", p.Place, orWord(string(p.Priority), string(forkbox.NormalPriority)),
			ago(p.Since), untilText(p.Deadline), orWord(printable(p.What), "-"), orWord(printable(p.Why), "-"))
	}
}

func untilText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return "in " + spanText(time.Until(t))
}
