package limits

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func StatsVerb(a *app.App) *cobra.Command {
	var watch, series bool
	cmd := &cobra.Command{
		Use:   "stats [--watch] [--series] BOX",
		Short: "Show what a box uses",
		Long: `Show what a box uses, and its limits: processors, memory now and at its peak,
processes, disk, what went to and came from disks, and pressure: how much of the
last 10 seconds, minute and five minutes was lost waiting. A box at rest has its
disk, and what was last known of the rest. What this host does not count is left
out.

With --watch it is shown anew every two seconds; q or ctrl-C ends it. With --series
what was measured in the last hour is listed.

With --json it is one document, and with --watch one on each line.`,
		Example: `  forkbox stats try
  forkbox stats --watch try
  forkbox stats --series try --json | jq '.series[].memory_bytes'`,
		Args:              app.Exactly(1, "a box: forkbox stats BOX"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if watch {
				return watchStats(cmd.Context(), a, args[0], series)
			}
			return stats(cmd.Context(), a, args[0], series)
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "show it anew every two seconds")
	cmd.Flags().BoolVar(&series, "series", false, "what was measured in the last hour")
	return cmd
}

func stats(ctx context.Context, a *app.App, ref string, series bool) error {
	s, err := a.Client().Stats(ctx, ref, series)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(s)
	}
	return writeStats(a.Stdout, s, series)
}

func watchStats(ctx context.Context, a *app.App, ref string, series bool) error {
	c := a.Client()
	defer c.Close()
	return a.Live(ctx, func(ctx context.Context, w io.Writer) error {
		s, err := c.Stats(ctx, ref, series)
		switch {
		case err != nil:
			return err
		case a.JSON:
			return json.NewEncoder(w).Encode(s)
		}
		return writeStats(w, s, series)
	})
}

// writeStats has the series first: what is now stays in sight.
func writeStats(w io.Writer, s forkbox.BoxStats, series bool) error {
	if series {
		err := terminal.TableTo(w, "TIME\tCPU\tMEMORY\tPIDS\tDISK\tREAD\tWRITTEN\tPRESSURE", func(w io.Writer) { writeSeries(w, s.Series) })
		if err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return terminal.TableTo(w, "", func(w io.Writer) {
		for _, row := range statsRows(s) {
			if row[1] != "" {
				fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
			}
		}
	})
}

func writeSeries(w io.Writer, series []forkbox.Stats) {
	for i, s := range series {
		cpu := "-"
		if i > 0 {
			cpu = percent(cpuShare(series[i-1], s))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", s.Time.Local().Format(time.TimeOnly), cpu, terminal.RoundBytes(s.Memory), s.Pids,
			terminal.RoundBytes(s.Disk), terminal.RoundBytes(s.IO.ReadBytes), terminal.RoundBytes(s.IO.WriteBytes), pressureText(s.Pressure))
	}
}

// cpuShare is how much of one processor was used between two samples.
func cpuShare(before, after forkbox.Stats) float64 {
	span := after.Time.Sub(before.Time)
	if span <= 0 || after.CPU < before.CPU { // another run of the box counts anew
		return 0
	}
	return 100 * float64(after.CPU-before.CPU) / float64(span)
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", share) }

// statsRows is what a box uses, a line for each resource.
func statsRows(s forkbox.BoxStats) [][2]string {
	now := s.Now
	return [][2]string{
		{"box", terminal.Printable(s.Name)}, {"state", statsState(s)}, {"cpu", cpuText(s)},
		{"memory", used(s.Policy, forkbox.Memory, now.Memory) + peak(now.MemoryPeak)},
		{"swap", some(now.Swap, used(s.Policy, forkbox.Swap, now.Swap))},
		{"pids", used(s.Policy, forkbox.Pids, now.Pids)},
		{"disk", used(s.Policy, forkbox.Disk, now.Disk)},
		{"inodes", some(now.Inodes, used(s.Policy, forkbox.Inodes, now.Inodes))},
		{"read", fmt.Sprintf("%s in %d", terminal.RoundBytes(now.IO.ReadBytes), now.IO.ReadOps)},
		{"written", fmt.Sprintf("%s in %d", terminal.RoundBytes(now.IO.WriteBytes), now.IO.WriteOps)},
		{"pressure", pressures(now.Pressure)},
		{"killed for memory", some(now.OOMKills, fmt.Sprint(now.OOMKills))},
		{"met its pids limit", some(now.PidsHits, fmt.Sprint(now.PidsHits))},
	}
}

func statsState(s forkbox.BoxStats) string {
	if s.Paused != "" {
		return string(s.State) + ", paused" + terminal.Because(terminal.Printable(s.Paused))
	}
	return string(s.State)
}

func cpuText(s forkbox.BoxStats) string {
	text := percent(s.CPU)
	if limit, has := s.Policy.Of(forkbox.CPUs); has {
		text += " of " + percent(float64(limit)/10)
	}
	text += ", " + s.Now.CPU.Round(time.Millisecond).String() + " so far"
	if s.Now.Throttled > 0 {
		text += ", held back for " + s.Now.Throttled.Round(time.Millisecond).String()
	}
	return text
}

// used is a figure, and the limit where there is one.
func used(p forkbox.Policy, r forkbox.Resource, n int64) string {
	text := describe.Figure(r, n)
	if limit, has := p.Of(r); has {
		text += " of " + forkbox.FormatLimit(r, limit)
	}
	return text
}

func peak(n int64) string {
	if n <= 0 {
		return ""
	}
	return ", peak " + terminal.RoundBytes(n)
}

// some is text, unless there is nothing to tell.
func some(n int64, text string) string {
	if n == 0 {
		return ""
	}
	return text
}

// pressures is all that is known of it, in full.
func pressures(by map[string]forkbox.Pressure) string {
	var parts []string
	for _, what := range []string{"cpu", "memory", "io"} {
		if p, known := by[what]; known {
			parts = append(parts, fmt.Sprintf("%s %.1f/%.1f/%.1f%%", what, p.Some10, p.Some60, p.Some300))
		}
	}
	return strings.Join(parts, ", ")
}

// pressureText is the worst of it now, in a word.
func pressureText(by map[string]forkbox.Pressure) string {
	worst, most := "-", 0.0
	for _, what := range []string{"cpu", "memory", "io"} {
		p, known := by[what]
		if known && (worst == "-" || p.Some10 > most) {
			worst, most = fmt.Sprintf("%s %.0f%%", what, p.Some10), p.Some10
		}
	}
	return worst
}
