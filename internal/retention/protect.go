package retention

import (
	"fmt"

	"github.com/forkbox/forkbox"
)

// protection says why a box stays whatever its age and size: empty if it may
// go. What a request can overrule comes last, so that nobody is told to
// overrule it and then finds the box protected by something else.
func protection(f Facts, spec forkbox.GCSpec) string {
	if why := unfinished(f.Box); why != "" {
		return why
	}
	switch {
	case f.Running:
		return "processes run in it"
	case f.Box.Pinned:
		return "it was started to stay up; forkbox stop ends that"
	case f.Box.Kept:
		return "its owner wants it kept"
	case len(f.Children) > 0:
		return needed(f.Children)
	case f.Box.Created.IsZero():
		return "nothing says when it was made"
	case !known(f.Outcome):
		return "it could not be found out whether it has changes"
	case f.Outcome == Unreviewed && !spec.Unreviewed:
		return "it has changes nobody applied or discarded; --unreviewed removes it too"
	}
	return ""
}

// unfinished says what is being done to a box, by us or by a daemon that died
// and whose successor will finish it.
func unfinished(b forkbox.Box) string {
	switch b.State {
	case forkbox.Creating:
		return "it is being created"
	case forkbox.Removing:
		return "it is being removed"
	case forkbox.Stopped, forkbox.Running:
	default:
		return fmt.Sprintf("its state is %q, which this version does not know", b.State)
	}
	switch {
	case b.Saving != "":
		return "a snapshot of it is being made"
	case b.Rebase != "":
		return "it is being adapted to what was applied"
	case b.Syncing != nil:
		return "what reality changed is being brought into it"
	}
	return ""
}

func needed(children []string) string {
	if len(children) == 1 {
		return list(children) + " needs its snapshots; it can go once that has gone"
	}
	return list(children) + " need its snapshots; it can go once they have gone"
}
