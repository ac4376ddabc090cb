package exec

import (
	"context"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func LogsVerb(a *app.App) *cobra.Command {
	l := &logPrinter{App: a, begun: map[string][]byte{}}
	cmd := &cobra.Command{
		Use:   "logs [-f] [--raw] BOX [EXEC]",
		Short: "Print the output of a command that ran in a box",
		Long: `Print what an exec wrote: stdout to stdout, stderr to stderr. Without EXEC it is
the latest of the box. Output is kept up to a cap; when some was dropped, a note
on stderr says how much. Another says what ended the command, where that was not
the command itself.

On a terminal what would control it is shown as less does, unless with --raw; in a
pipe everything is as it was written.

With --json: {"exec":{…},"records":[…]}, the data in base64.`,
		Example:           "  forkbox logs try\n  forkbox logs -f try 3",
		Args:              cobra.MatchAll(app.Needs(1, "a box: forkbox logs BOX [EXEC]"), cobra.MaximumNArgs(2)),
		ValidArgsFunction: a.CompleteBoxThenExec,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			exec, err := findExec(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			return l.print(cmd.Context(), c, exec)
		},
	}
	cmd.Flags().BoolVarP(&l.follow, "follow", "f", false, "go on until the command ends")
	cmd.Flags().BoolVar(&l.raw, "raw", false, "also to a terminal as it was written")
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

// logPrinter prints what an exec wrote.
type logPrinter struct {
	*app.App
	follow, raw bool
	begun       map[string][]byte // by stream: a character of which the rest is in the next record
}

// write escapes what would control a terminal.
func (a *logPrinter) write(r forkbox.LogRecord) error {
	if a.raw || !terminal.IsTerminal(streamOf(r)) {
		return writeRecord(a.App, r)
	}
	text := append(a.begun[r.Stream], r.Data...)
	whole := len(text)
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				whole -= n
			}
			break
		}
	}
	a.begun[r.Stream] = slices.Clone(text[whole:])
	r.Data = []byte(terminal.Visible(text[:whole]))
	return writeRecord(a.App, r)
}

// finish shows what never became a character.
func (a *logPrinter) finish() error {
	for stream, rest := range a.begun {
		if err := writeRecord(a.App, forkbox.LogRecord{Stream: stream, Data: []byte(terminal.Visible(rest))}); err != nil {
			return err
		}
	}
	return nil
}

func (a *logPrinter) print(ctx context.Context, c *client.Client, exec forkbox.Exec) error {
	records := []forkbox.LogRecord{}
	err := c.Logs(ctx, exec.Box, exec.ID, a.follow, func(r forkbox.LogRecord) error {
		if a.JSON {
			records = append(records, r)
			return nil
		}
		return a.write(r)
	})
	if err == nil {
		err = a.finish()
	}
	if err != nil {
		return err
	}
	if now, err := c.GetExec(ctx, exec.Box, exec.ID); err == nil {
		exec = now
	}
	if a.JSON {
		return a.PrintJSON(map[string]any{"exec": exec, "records": records})
	}
	if out := exec.Output; out != nil && out.Dropped > 0 {
		a.Say("note: %s were not kept; the cap is %s per command", forkbox.FormatSize(out.Dropped), forkbox.FormatSize(out.Cap))
	}
	if !describe.PlainExit(exec.Exit) {
		a.Say("note: %s", describe.Exit(describe.ExecExit(exec)))
	}
	return nil
}

func writeRecord(a *app.App, r forkbox.LogRecord) error {
	_, err := streamOf(r).Write(r.Data)
	return forkbox.Wrap("print the output", err)
}

func streamOf(r forkbox.LogRecord) *os.File {
	if r.Stream == "stderr" {
		return os.Stderr
	}
	return os.Stdout
}
