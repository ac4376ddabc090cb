package exec

import (
	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/change"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/place"
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
	at := place.Here()
	for _, c := range changes {
		r.Say("  %s", change.Line(r.Stderr, at, c))
	}
	if more := total - len(changes); more > 0 {
		r.Say("  and %d more %s", more, what)
	}
}
