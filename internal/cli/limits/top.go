package limits

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func TopVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Show what all your boxes use, live",
		Long: `Show what each of your boxes uses. On a terminal it is shown anew every two seconds,
until q or ctrl-C; READ and WRITTEN are then per second, otherwise since the box
was started. PRESSURE is the resource that it loses most time waiting for, and how
much of the last ten seconds that was.`,
		Example:           "  forkbox top\n  forkbox top --json | jq '.boxes[] | {name, cpu_percent}'",
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return top(cmd.Context(), a) },
	}
}

func top(ctx context.Context, a *app.App) error {
	c := a.Client()
	defer c.Close()
	if a.JSON || !terminal.IsTerminal(a.Stdout) {
		return topOnce(ctx, a, c)
	}
	var before map[string]forkbox.BoxStats
	return a.Live(ctx, func(ctx context.Context, w io.Writer) error {
		list, err := c.AllStats(ctx)
		if err != nil {
			return err
		}
		if before == nil {
			before = byBox(list)
		}
		fmt.Fprintf(w, "%s  %s\n\n", time.Now().Format(time.TimeOnly), countText(list))
		err = terminal.TableTo(w, topHead, func(w io.Writer) { writeTop(w, list, before) })
		before = byBox(list)
		return err
	})
}

func topOnce(ctx context.Context, a *app.App, c *client.Client) error {
	list, err := c.AllStats(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(api.StatsList{Boxes: list})
	}
	return terminal.TableTo(a.Stdout, topHead, func(w io.Writer) { writeTop(w, list, nil) })
}

const topHead = "NAME\tSTATE\tCPU\tMEMORY\tPIDS\tDISK\tREAD\tWRITTEN\tPRESSURE"

func byBox(list []forkbox.BoxStats) map[string]forkbox.BoxStats {
	boxes := map[string]forkbox.BoxStats{}
	for _, s := range list {
		boxes[s.Box] = s
	}
	return boxes
}

// writeTop has rates where it knows what was before.
func writeTop(w io.Writer, list []forkbox.BoxStats, before map[string]forkbox.BoxStats) {
	for _, s := range list {
		read, written := terminal.RoundBytes(s.Now.IO.ReadBytes), terminal.RoundBytes(s.Now.IO.WriteBytes)
		if was, known := before[s.Box]; known {
			read, written = rate(was, s, bytesRead), rate(was, s, bytesWritten)
		} else if before != nil {
			read, written = "-", "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", terminal.Printable(s.Name), shortState(s), percent(s.CPU),
			used(s.Policy, forkbox.Memory, s.Now.Memory), used(s.Policy, forkbox.Pids, s.Now.Pids),
			used(s.Policy, forkbox.Disk, s.Now.Disk), read, written, pressureText(s.Now.Pressure))
	}
}

func bytesRead(io forkbox.IO) int64    { return io.ReadBytes }
func bytesWritten(io forkbox.IO) int64 { return io.WriteBytes }

// rate is how much went by per second between two samples.
func rate(before, after forkbox.BoxStats, of func(forkbox.IO) int64) string {
	span := after.Now.Time.Sub(before.Now.Time).Seconds()
	moved := of(after.Now.IO) - of(before.Now.IO)
	if span <= 0 || moved < 0 { // nothing new was measured, or another run of the box counts anew
		return "-"
	}
	return terminal.RoundBytes(int64(float64(moved)/span)) + "/s"
}

// shortState is as much of a state as a column has room for.
func shortState(s forkbox.BoxStats) string {
	if s.Paused != "" {
		return "paused"
	}
	return string(s.State)
}

func countText(list []forkbox.BoxStats) string {
	running := 0
	for _, s := range list {
		if s.State == forkbox.Running {
			running++
		}
	}
	return fmt.Sprintf("%d of %d run; q ends this", running, len(list))
}
