package limits

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func EventsVerb(a *app.App) *cobra.Command {
	var spec client.EventSpec
	cmd := &cobra.Command{
		Use:   "events [-f] [--after ID] [BOX]",
		Short: "Tell what happened to boxes by itself",
		Long: `Tell what happened to your boxes without somebody asking for it: a limit that was
met, a box whose time ends soon or was up, one that was stopped for being idle, one
that was paused. With BOX only of that one. With -f it goes on with what happens
from now on.

With --json: {"events":[…]}; with -f as well, one event on each line.`,
		Example: `  forkbox events
  forkbox events -f try
  forkbox events --json | jq -r '.events[] | select(.kind == "oom").box'`,
		Args:              app.Between(0, 1, "one box at most: forkbox events [BOX]"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec.Box = append(args, "")[0]
			if spec.After < 0 {
				return fmt.Errorf("--after %d is not the id of an event", spec.After)
			}
			return events(cmd.Context(), a, spec)
		},
	}
	cmd.Flags().BoolVarP(&spec.Follow, "follow", "f", false, "go on with what happens from now on")
	cmd.Flags().Int64Var(&spec.After, "after", 0, "only what came after the event with this `id`")
	return cmd
}

func events(ctx context.Context, a *app.App, spec client.EventSpec) error {
	c := a.Client()
	defer c.Close()
	events := []forkbox.Event{}
	err := c.Events(ctx, spec, func(e forkbox.Event) error {
		switch {
		case a.JSON && spec.Follow:
			return json.NewEncoder(a.Stdout).Encode(e)
		case a.JSON:
			events = append(events, e)
			return nil
		case spec.Follow:
			_, err := io.WriteString(a.Stdout, eventLine(e, "  ")+"\n")
			return err
		}
		events = append(events, e)
		return nil
	})
	switch {
	case err != nil || spec.Follow:
		return err
	case a.JSON:
		return a.PrintJSON(map[string]any{"events": events})
	case len(events) == 0:
		a.Say("nothing has happened")
		return nil
	}
	return a.Table("", func(w io.Writer) {
		for _, e := range events {
			fmt.Fprintln(w, eventLine(e, "\t"))
		}
	})
}

func eventLine(e forkbox.Event, between string) string {
	name := terminal.Printable(terminal.OrWord(e.Name, e.Box))
	if e.Exec != "" {
		name += " " + e.Exec
	}
	return e.Time.Local().Format(time.DateTime) + between + name + between + string(e.Kind) + between + terminal.Printable(e.Text)
}
