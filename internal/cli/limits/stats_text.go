package limits

import (
	"fmt"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

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
