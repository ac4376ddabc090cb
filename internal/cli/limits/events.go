package limits

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func EventsVerb(a *app.App) *cobra.Command {
	var spec client.EventSpec
	var kinds, after string
	cmd := &cobra.Command{
		Use:   "events [-f] [--after ID] [--kind KINDS] [BOX]",
		Short: "Tell what happened",
		Long: `Tell what happened: boxes that were made, started, stopped, removed; commands
that began and ended; snapshots, templates, receipts, races; limits that were met or
changed; secrets and tokens that came and went. With BOX only of that one.

With --kind only some: kinds with commas between them (box.created,exec.ended), or
all of a noun (limit.*). With -f it goes on with what happens from now on, also
through a restart of the daemon; after a restart of your own --after goes on where
you were.

With --json: {"events":[…]}; with -f as well, one event on each line.`,
		Example: `  forkbox events
  forkbox events -f try
  forkbox events -f --after latest --kind 'limit.*,exec.ended'
  forkbox events --json | jq -r '.events[] | select(.kind == "limit.memory").box'`,
		Args:              app.Between(0, 1, "one box at most: forkbox events [BOX]"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				spec.Box = args[0]
			}
			var err error
			if spec.Kinds, err = forkbox.ParseEventFilter(kinds); err != nil {
				return err
			}
			if spec.After, err = parseAfter(after); err != nil {
				return err
			}
			return events(cmd.Context(), a, spec)
		},
	}
	cmd.Flags().BoolVarP(&spec.Follow, "follow", "f", false, "go on with what happens from now on")
	cmd.Flags().StringVar(&after, "after", "", "only what came after the event with this `id`; latest is from now on")
	cmd.Flags().StringVar(&kinds, "kind", "", "only these `kinds`, with commas between them; box.* is all of boxes")
	cmd.Flags().StringVar(&spec.Box, "box", "", "only of this box, as BOX")
	_ = cmd.RegisterFlagCompletionFunc("kind", completeKinds)
	return cmd
}

func completeKinds(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, k := range forkbox.EventKinds {
		words = append(words, string(k.Kind)+"\t"+k.Text)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

func parseAfter(text string) (int64, error) {
	switch text {
	case "":
		return 0, nil
	case api.AfterLatest:
		return client.AfterLatest, nil
	}
	after, err := strconv.ParseInt(text, 10, 64)
	if err != nil || after < 0 {
		return 0, fmt.Errorf("--after %s is not the id of an event", text)
	}
	return after, nil
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
