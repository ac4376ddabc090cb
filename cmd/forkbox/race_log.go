package main

import (
	"context"
	"fmt"
	"io"

	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
)

func (a *app) raceLogVerb() *cobra.Command {
	l := &raceLogger{app: a}
	cmd := &cobra.Command{
		Use:   "log [-f] [--raw] RACE [APPROACH]",
		Short: "Print what an approach printed: its transcript",
		Long: `Print what the commands of an approach wrote, one after another: its steps, then what
judged it, stdout to stdout and stderr to stderr, each command with a line above it.
Without APPROACH it is what the setup printed. With -f it goes on until the approach is
done. Transcripts outlive the boxes; forkbox race rm removes them.

On a terminal what would control it is shown as less does, unless with --raw; in a
pipe everything is as it was written.

With --json each piece is one document on a line of its own, the data in base64.`,
		Example:           "  forkbox race log fix patch\n  forkbox race log -f fix patch\n  forkbox race log fix patch --json | jq -r '.data | @base64d'",
		Args:              between(1, 2, "a race, and an approach of it: forkbox race log RACE [APPROACH]"),
		ValidArgsFunction: a.completeApproach,
		RunE: func(cmd *cobra.Command, args []string) error {
			return l.run(cmd.Context(), args[0], append(args, "")[1])
		},
	}
	cmd.Flags().BoolVarP(&l.follow, "follow", "f", false, "go on until the approach is done")
	cmd.Flags().BoolVar(&l.raw, "raw", false, "also to a terminal as it was written")
	return cmd
}

type raceLogger struct {
	*app
	follow, raw bool
	part        string
	begun       bool // of a part: something is on the current line of stdout
}

func (l *raceLogger) run(ctx context.Context, ref, approach string) error {
	pieces := 0
	err := l.client().RaceLog(ctx, ref, approach, l.follow, func(piece forkbox.RaceLog) error {
		pieces++
		return forkbox.Wrap("print what it printed", l.write(piece))
	})
	if err == nil && pieces == 0 && !l.json {
		l.say("it printed nothing")
	}
	if approach == "" {
		return advise(err, forkbox.NotFound, "race log", "that would be of the setup, and there was none. Of an approach: forkbox race log %s APPROACH", ref)
	}
	return err
}

func (l *raceLogger) write(piece forkbox.RaceLog) error {
	if l.json {
		return l.printRaceLine(piece)
	}
	if err := l.head(piece.Part); err != nil {
		return err
	}
	out := l.stdout
	if piece.Stream == "stderr" {
		out = l.stderr
	}
	if len(piece.Data) > 0 && piece.Stream != "stderr" {
		l.begun = piece.Data[len(piece.Data)-1] != '\n'
	}
	if l.raw || !isTerminal(out) {
		_, err := out.Write(piece.Data)
		return err
	}
	_, err := io.WriteString(out, visible(piece.Data))
	return err
}

// head is the line above what a command wrote. What another wrote without an end
// of its last line ends there.
func (l *raceLogger) head(part string) error {
	if part == l.part {
		return nil
	}
	l.part = part
	before := ""
	if l.begun {
		before, l.begun = "\n", false
	}
	_, err := fmt.Fprintf(l.stdout, "%s%s\n", before, paintFor(l.stdout, cyan, "==> "+printable(part)))
	return err
}
