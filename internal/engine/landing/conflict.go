package landing

import (
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/review"
)

// inConflict names the conflicts of an apply, and for each kind of them what does
// settle it: a sync merges lines, and nothing else.
func inConflict(op, box string, p *review.Plan) error {
	var ways []string
	if p.Marked > 0 {
		ways = append(ways, "settle the markers that a sync left in the box: forkbox shell "+box)
	}
	if p.Lines > 0 {
		ways = append(ways, "bring reality's changes into the box and settle them there: forkbox sync "+box)
	}
	switch decide := "decide, for all or by path: forkbox apply --conflict WAY " + box + " [PATH…], where WAY is theirs (the box wins)"; {
	case p.Refused <= p.Marked+p.Hopeless:
		ways = append(ways, "leave them out: forkbox apply --conflict ours "+box+" (reality wins)")
	case p.Lines > 0:
		ways = append(ways, decide+", ours (reality wins) or markers (both, marked)")
	default:
		ways = append(ways, decide+" or ours (reality wins)")
	}
	ways = append(ways, "give the box's version up: forkbox discard "+box+" PATH")
	err := forkbox.Errorf(forkbox.Conflict, op, "%s", conflictText(p.Refused, len(p.Conflicts))).Hint("%s", ways[0])
	for _, way := range ways[1:] {
		err = err.Hint("or %s", way)
	}
	err.Items = p.Conflicts
	return err
}

func conflictText(n, named int) string {
	switch {
	case n == 1:
		return "reality and the box have both changed a path"
	case n > named:
		return fmt.Sprintf("reality and the box have both changed %d paths, of which the first %d are named", n, named)
	}
	return fmt.Sprintf("reality and the box have both changed %d paths", n)
}

// onReality refuses what makes sense only for a fork of this machine.
func onReality(op string, box forkbox.Box) error {
	if box.Base.IsReality() {
		return core.Usable(op, box)
	}
	return forkbox.Errorf(forkbox.Unsupported, op, "%s was made of %s and not of this machine, so its changes have no place here", box.Name, core.OrElse(box.Base.Name, box.Base.Kind)).
		Hint("forkbox export %s takes it elsewhere", box.Name)
}
