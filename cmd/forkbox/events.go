package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) eventsVerb() *cobra.Command {
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
		Args:              between(0, 1, "one box at most: forkbox events [BOX]"),
		ValidArgsFunction: a.completeBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec.Box = append(args, "")[0]
			if spec.After < 0 {
				return fmt.Errorf("--after %d is not the id of an event", spec.After)
			}
			return a.events(cmd.Context(), spec)
		},
	}
	cmd.Flags().BoolVarP(&spec.Follow, "follow", "f", false, "go on with what happens from now on")
	cmd.Flags().Int64Var(&spec.After, "after", 0, "only what came after the event with this `id`")
	return cmd
}

func (a *app) events(ctx context.Context, spec client.EventSpec) error {
	c := a.client()
	defer c.Close()
	events := []forkbox.Event{}
	err := c.Events(ctx, spec, func(e forkbox.Event) error {
		switch {
		case a.json && spec.Follow:
			return json.NewEncoder(a.stdout).Encode(e)
		case a.json:
			events = append(events, e)
			return nil
		case spec.Follow:
			_, err := io.WriteString(a.stdout, eventLine(e, "  ")+"\n")
			return err
		}
		events = append(events, e)
		return nil
	})
	switch {
	case err != nil || spec.Follow:
		return err
	case a.json:
		return a.printJSON(map[string]any{"events": events})
	case len(events) == 0:
		a.say("nothing has happened")
		return nil
	}
	return a.table("", func(w io.Writer) {
		for _, e := range events {
			fmt.Fprintln(w, eventLine(e, "\t"))
		}
	})
}

func eventLine(e forkbox.Event, between string) string {
	name := printable(orWord(e.Name, e.Box))
	if e.Exec != "" {
		name += " " + e.Exec
	}
	return e.Time.Local().Format(time.DateTime) + between + name + between + string(e.Kind) + between + printable(e.Text)
}
