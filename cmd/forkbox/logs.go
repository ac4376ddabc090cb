package main

import (
	"context"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) logsVerb() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs [-f] BOX [EXEC]",
		Short: "Print the output of a command that ran in a box",
		Long: `Print what an exec wrote: stdout to stdout, stderr to stderr. Without EXEC it is
the latest of the box. Output is kept up to a cap; when some was dropped, a note
on stderr says how much. Another says what ended the command, where that was not
the command itself.

With --json: {"exec":{…},"records":[…]}, the data in base64.`,
		Example:           "  forkbox logs try\n  forkbox logs -f try 3",
		Args:              cobra.MatchAll(needs(1, "a box: forkbox logs BOX [EXEC]"), cobra.MaximumNArgs(2)),
		ValidArgsFunction: a.completeBoxThenExec,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.client()
			exec, err := findExec(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			return a.logs(cmd.Context(), c, exec, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the command ends")
	return cmd
}

func findExec(ctx context.Context, c *client.Client, args []string) (forkbox.Exec, error) {
	if len(args) == 2 {
		return c.GetExec(ctx, args[0], args[1])
	}
	execs, err := c.Execs(ctx, args[0])
	if err != nil {
		return forkbox.Exec{}, err
	}
	if len(execs) == 0 {
		return forkbox.Exec{}, forkbox.Errorf(forkbox.NotFound, "read the output", "nothing has run in box %s", args[0]).
			Hint("run something: forkbox exec %s -- CMD…", args[0])
	}
	return execs[len(execs)-1], nil
}

func (a *app) logs(ctx context.Context, c *client.Client, exec forkbox.Exec, follow bool) error {
	records := []forkbox.LogRecord{}
	err := c.Logs(ctx, exec.Box, exec.ID, follow, func(r forkbox.LogRecord) error {
		if a.json {
			records = append(records, r)
			return nil
		}
		return a.writeRecord(r)
	})
	if err != nil {
		return err
	}
	if now, err := c.GetExec(ctx, exec.Box, exec.ID); err == nil {
		exec = now
	}
	if a.json {
		return a.printJSON(map[string]any{"exec": exec, "records": records})
	}
	if out := exec.Output; out != nil && out.Dropped > 0 {
		a.say("note: %s were not kept; the cap is %s per command", size(out.Dropped), size(out.Cap))
	}
	if !plainExit(exec.Exit) {
		a.say("note: %s", exitText(execExit(exec)))
	}
	return nil
}

func (a *app) writeRecord(r forkbox.LogRecord) error {
	out := os.Stdout
	if r.Stream == "stderr" {
		out = os.Stderr
	}
	_, err := out.Write(r.Data)
	return forkbox.Wrap("print the output", err)
}
