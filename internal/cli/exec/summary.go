package exec

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/change"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

const shownOthers = 5

// glance keeps the few changes of one scope that a summary shows, out of any
// number.
type glance struct {
	deletions []forkbox.Change
	others    []forkbox.Change
}

func (g *glance) add(change forkbox.Change) {
	switch {
	case change.Kind == forkbox.Deleted && len(g.deletions) < describe.ShownDeletions:
		g.deletions = append(g.deletions, change)
	case change.Kind != forkbox.Deleted && len(g.others) < shownOthers:
		g.others = append(g.others, change)
	}
}

// glances are what a summary shows of each scope. Of noise it shows none.
type glances struct{ workspace, system glance }

func (g *glances) add(change forkbox.Change) error {
	switch change.Scope {
	case forkbox.System:
		g.system.add(change)
	case forkbox.Noise:
	default:
		g.workspace.add(change)
	}
	return nil
}

// showSummary shows the workspace first, and never hides that something was
// deleted: deletions come first and have their own limit.
func (r *runner) showSummary(look *glances, result runResult) {
	s := result.Summary
	title := r.Paint(terminal.Bold, "box "+result.Box.Name+":")
	switch {
	case s.Total > 0 && s.Workspace.Total == 0:
		r.Say("%s nothing changed in the workspace", title)
	case s.Total > 0:
		r.Say("%s %s", title, describe.CountByKind(s.Workspace))
		r.showSome(look.workspace, s.Workspace)
	case !r.keep && !r.discard:
		r.Say("nothing changed")
	}
	if s.System.Total > 0 {
		r.Say("%s %s%s", r.Paint(terminal.Bold, "system:"), describe.CountByKind(s.System), describe.InBrackets(s.Packages))
		r.showSome(look.system, s.System)
	}
	if s.Noise.Total > 0 {
		r.Say("%s %s", r.Paint(terminal.Bold, "noise:"), terminal.Plural(s.Noise.Total, "change"))
	}
	r.tellRefused(result)
}

func (r *runner) showSome(look glance, count forkbox.Count) {
	r.showFew(look.deletions, count.Deleted, "deletions")
	r.showFew(look.others, count.Total-count.Deleted, "changes")
}

func (r *runner) showFew(changes []forkbox.Change, total int, what string) {
	at := r.Here()
	for _, c := range changes {
		r.Say("  %s", change.Line(r.Stderr, at, c))
	}
	if more := total - len(changes); more > 0 {
		r.Say("  and %d more %s", more, what)
	}
}

// findRefused asks what the box of a run tried to reach in vain: often that is
// why a command failed.
func (r *runner) findRefused(ctx context.Context, c *client.Client, result *runResult) {
	if result.Exec.Refused == 0 || r.quiet && !r.JSON {
		return
	}
	err := c.Conns(ctx, result.Box.ID, client.ConnSpec{}, func(conn forkbox.Conn) error {
		if conn.State == forkbox.ConnRefused {
			result.Refused = append(result.Refused, conn)
		}
		return nil
	})
	if err != nil {
		r.Say("warning: %s", terminal.Printable(err.Error()))
	}
}

// shownRefused is how many places fit on a line.
const shownRefused = 3

// tellRefused is one line, with what to do about it. The box may be gone soon:
// its log is then to be had by its id.
func (r *runner) tellRefused(result runResult) {
	if len(result.Refused) == 0 {
		return
	}
	count, places, flags := refusedPlaces(result.Refused)
	text := places[:min(len(places), shownRefused)]
	line := strings.Join(text, ", ")
	if more := len(places) - len(text); more > 0 {
		line += " and " + terminal.Plural(more, "other place")
	}
	ref := result.Box.ID
	if r.keep {
		ref = result.Box.Name
	}
	line += "   Look: forkbox net log " + ref
	if len(flags) > 0 {
		line += "   Allow: forkbox run " + strings.Join(flags, " ") + " -- " + terminal.CommandLine(result.Exec.Argv)
	}
	r.Say("%s %s refused: %s", r.Paint(terminal.Yellow, terminal.Plural(count, "connection")), wasWere(count), line)
}

func wasWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// refusedPlaces is how many attempts there were, where to, and the flags that
// would have allowed the first few, where a flag can.
func refusedPlaces(conns []forkbox.Conn) (count int, places, flags []string) {
	for _, conn := range conns {
		count += max(1, conn.Times)
		place := placeText(conn.Target)
		if slices.Contains(places, place) {
			continue
		}
		places = append(places, place)
		if flag := allowFlag(conn); flag != "" && len(flags) < shownRefused {
			flags = append(flags, flag)
		}
	}
	return count, places, flags
}

// placeText reads "a.example:443", and with what it is where that is not TCP. The
// address is of interest only where there is no name.
func placeText(t forkbox.NetTarget) string {
	place := forkbox.NetTarget{Proto: t.Proto, Host: t.Host, Port: t.Port}
	if t.Host == "" {
		place.Addr = t.Addr
	}
	return strings.TrimPrefix(describe.Target(place), "tcp ")
}

// allowFlag is for what no rule was about. What a rule denies, its author meant;
// and what the gate has no remedy for, a flag does not help either.
func allowFlag(conn forkbox.Conn) string {
	t := conn.Target
	if conn.Rule.Rule != "" || conn.Remedy == "" || t.Host == "" || t.Port == 0 || t.Proto != "tcp" && t.Proto != "udp" {
		return ""
	}
	rule := t.Host + ":" + strconv.Itoa(t.Port)
	if t.Proto == "udp" {
		rule = "udp:" + rule
	}
	if t.Host == forkbox.HostName {
		return "--host-port " + strconv.Itoa(t.Port)
	}
	if _, err := flags.ParseRule("allow", rule); err != nil { // no name that a rule could have
		return ""
	}
	return "--allow " + terminal.ShellWord(rule)
}
