package race

import (
	"context"
	"fmt"
	"io"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func raceLogVerb(a *app.App) *cobra.Command {
	l := &raceLogger{App: a}
	cmd := &cobra.Command{
		Use:   "log [-f] [--raw] RACE [APPROACH]",
		Short: "Print what an approach printed: its transcript",
		Long: `Print what the commands of an approach wrote, one after another: its steps, then what
judged it, stdout to stdout and stderr to stderr, each command with a line above it.
Without APPROACH it is what the setup printed. With -f it goes on until the approach is
done. Transcripts outlive the boxes; forkbox race rm removes them. Of a command that
prints very much only the first part is kept, 16 MiB unless a limit says otherwise, and
that is said as long as its box is there.

On a terminal what would control it is shown as less does, unless with --raw; in a
pipe everything that was kept is as it was written.

With --json each piece is one document on a line of its own, the data in base64.`,
		Example:           "  forkbox race log fix patch\n  forkbox race log -f fix patch\n  forkbox race log fix patch --json | jq -r '.data | @base64d'",
		Args:              app.Between(1, 2, "a race, and an approach of it: forkbox race log RACE [APPROACH]"),
		ValidArgsFunction: approaches{a}.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return l.run(cmd.Context(), args[0], append(args, "")[1])
		},
	}
	cmd.Flags().BoolVarP(&l.follow, "follow", "f", false, "go on until the approach is done")
	cmd.Flags().BoolVar(&l.raw, "raw", false, "also to a terminal as it was written")
	return cmd
}

type raceLogger struct {
	*app.App
	follow, raw bool
	part        string
	begun       bool // of a part: something is on the current line of stdout
}

func (l *raceLogger) run(ctx context.Context, ref, approach string) error {
	c := l.Client()
	defer c.Close()
	race, err := c.GetRace(ctx, ref)
	if err != nil {
		return err
	}
	if approach == "" && len(race.Spec.Setup) == 0 {
		return noSetup(race)
	}
	pieces := 0
	err = c.RaceLog(ctx, terminal.OrWord(ref, race.ID), approach, l.follow, func(piece forkbox.RaceLog) error {
		pieces++
		return forkbox.Wrap("print what it printed", l.write(piece))
	})
	if err != nil || l.JSON {
		return err
	}
	if pieces == 0 {
		l.Say("%s", silence(race, approach))
	}
	l.tellCut(ctx, c, ref, approach)
	return nil
}

func noSetup(race forkbox.Race) error {
	return forkbox.Errorf(forkbox.NotFound, "read the transcript", "race %s had no setup, and no approach is named", race.Name).
		Hint("of an approach: forkbox race log %s APPROACH", race.Name)
}

// silence is why there is nothing to print. With the box of a setup that failed
// goes what it printed, but for the lines that the race has kept.
func silence(race forkbox.Race, approach string) string {
	if approach == "" && race.State == forkbox.RaceFailed {
		return "what the setup printed was not kept; its last lines: forkbox race show " + terminal.Printable(race.Name)
	}
	return "it printed nothing"
}

// tellCut says of which commands not everything was kept. Their boxes know.
func (l *raceLogger) tellCut(ctx context.Context, c *client.Client, ref, approach string) {
	race, err := c.GetRace(ctx, ref) // again: it may have gone on while it was followed
	if err != nil {
		return
	}
	box := race.SetupBox
	if entry, err := findEntry(race, approach); err == nil {
		box = entry.Box
	}
	if box == "" {
		return
	}
	execs, _ := c.Execs(ctx, box)
	notes := cutNotes(execs)
	if len(notes) > 0 && l.begun && terminal.IsTerminal(l.Stdout) {
		l.Say("") // what was printed has not ended its line
	}
	for _, line := range notes {
		l.Say("%s", line)
	}
}

// cutNotes are about commands of a race that printed more than was kept.
func cutNotes(execs []forkbox.Exec) (lines []string) {
	for _, x := range execs {
		if out := x.Output; x.Label != "" && out != nil && out.Dropped > 0 {
			lines = append(lines, fmt.Sprintf("note: of %s the first %s are here, %s more were not kept", shortCommand(terminal.CommandLine(x.Argv)), forkbox.FormatSize(out.Kept), forkbox.FormatSize(out.Dropped)))
		}
	}
	return lines
}

func (l *raceLogger) write(piece forkbox.RaceLog) error {
	if l.JSON {
		return printRaceLine(l.App, piece)
	}
	if err := l.head(piece.Part); err != nil {
		return err
	}
	out := l.Stdout
	if piece.Stream == "stderr" {
		out = l.Stderr
	}
	if len(piece.Data) > 0 && piece.Stream != "stderr" {
		l.begun = piece.Data[len(piece.Data)-1] != '\n'
	}
	if l.raw || !terminal.IsTerminal(out) {
		_, err := out.Write(piece.Data)
		return err
	}
	_, err := io.WriteString(out, terminal.Visible(piece.Data))
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
	_, err := fmt.Fprintf(l.Stdout, "%s%s\n", before, terminal.PaintFor(l.Stdout, terminal.Cyan, "==> "+terminal.Printable(part)))
	return err
}
