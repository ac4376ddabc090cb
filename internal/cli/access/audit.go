package access

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func AuditVerb(a *app.App) *cobra.Command {
	var spec client.AuditSpec
	var since string
	cmd := &cobra.Command{
		Use:   "audit [--since TIME] [--who WHO] [--box BOX] [-n N]",
		Short: "Show who changed what, and who was refused",
		Long: `Show the audit trail: each call that changed something, and each that was refused,
with who made it and how they showed that, from where, about what, and how it ended.
A call that changes reality is recorded before it is made. Calls that are refused
again and again are one entry, with how often.

Entries are kept for 90 days, the latest 200000 of each user. Nothing edits them.
You see what was done for you; root sees all.`,
		Example: `  forkbox audit --since 1h
  forkbox audit --who ci --json | jq '.calls[] | select(.outcome != "ok")'
  forkbox audit --box try -n 20`,
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if spec.Since, err = parseSince(since, time.Now()); err != nil {
				return err
			}
			return audit(cmd.Context(), a, spec)
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "not before this `time`: 2h ago, or 2026-01-02, or 2026-01-02T15:04:05Z")
	cmd.Flags().StringVar(&spec.Who, "who", "", "only of this `user`, token or certificate")
	cmd.Flags().StringVar(&spec.Box, "box", "", "only about this `box`")
	cmd.Flags().IntVarP(&spec.Limit, "lines", "n", 0, "no more than the latest `N`")
	for _, name := range []string{"since", "who"} {
		cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	cmd.RegisterFlagCompletionFunc("box", a.CompleteBoxes(0))
	return cmd
}

func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, nil
		}
	}
	ago, err := forkbox.ParseLimit(forkbox.TTL, text)
	if err != nil || ago <= 0 {
		return time.Time{}, forkbox.Errorf(forkbox.Invalid, "read the audit trail", "--since %q is no time", text).Hint("for example 2h, 7d, 2026-01-02 or 2026-01-02T15:04:05Z")
	}
	return now.Add(-time.Duration(ago)), nil
}

func audit(ctx context.Context, a *app.App, spec client.AuditSpec) error {
	c := a.Client()
	defer c.Close()
	calls, err := c.Audit(ctx, spec)
	if err != nil {
		return err
	}
	return a.List(api.CallList{Calls: calls}, len(calls), "nothing on record", "TIME\tWHO\tFROM\tCALL\tABOUT\tOUTCOME", func(w io.Writer) {
		for _, call := range calls {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", call.Time.Local().Format("2006-01-02 15:04:05"), terminal.Printable(caller(call)), call.From, call.Name,
				terminal.Printable(call.Target), terminal.Printable(outcome(call)))
		}
	})
}

func caller(call forkbox.Call) string {
	switch {
	case call.UID < 0:
		return call.Kind
	case call.Label != "":
		return call.User + " (" + call.Kind + " " + call.Label + ")"
	case call.Via != "":
		return call.User + " (" + call.Kind + " " + call.Via + ")"
	}
	return call.User
}

func outcome(call forkbox.Call) string {
	text := call.Outcome
	if call.Why != "" {
		text += ": " + call.Why
	}
	if call.Times > 1 {
		text += fmt.Sprintf(" (%d times)", call.Times)
	}
	return text
}
