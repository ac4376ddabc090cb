package policy

import (
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/hostload"
)

func (c Config) userBoxes(_ hostload.Load, now Committed, want Want) Verdict {
	most, have := c.quotaOf(want.Owner).Boxes, now.ByUser[want.Owner.UID].Boxes
	if most > 0 && have >= most {
		return later(fmt.Sprintf("user %s has %d boxes, and may have %d", want.Owner.Name, have, most))
	}
	return fine
}

func (c Config) userRunning(_ hostload.Load, now Committed, want Want) Verdict {
	most, have := c.quotaOf(want.Owner).Running, now.ByUser[want.Owner.UID].Running
	if most > 0 && have >= most {
		return later(fmt.Sprintf("%s of user %s already, who may run %d", boxesRun(have), want.Owner.Name, most))
	}
	return fine
}

func (c Config) userMemory(_ hostload.Load, now Committed, want Want) Verdict {
	return within(want, forkbox.Memory, "boxes that run", now.ByUser[want.Owner.UID].Memory, c.quotaOf(want.Owner).Memory)
}

func (c Config) userCPUs(_ hostload.Load, now Committed, want Want) Verdict {
	return within(want, forkbox.CPUs, "boxes that run", now.ByUser[want.Owner.UID].CPUs, c.quotaOf(want.Owner).CPUs)
}

func (c Config) userDisk(_ hostload.Load, now Committed, want Want) Verdict {
	return within(want, forkbox.Disk, "boxes", now.ByUser[want.Owner.UID].Disk, c.quotaOf(want.Owner).Disk)
}

// within says whether a user's boxes and this one stay within a quota. A box
// without a limit, made before there was a quota, counts as all of it.
func within(w Want, r forkbox.Resource, which string, have, most int64) Verdict {
	mine, limited := w.Policy.Of(r)
	if !limited {
		mine = most
	}
	switch {
	case most <= 0 || mine <= most-have:
		return fine
	case mine > most:
		return never(fmt.Sprintf("this box may use %s; user %s may use %s", amount(r, mine), w.Owner.Name, amount(r, most)))
	}
	return later(fmt.Sprintf("%s of user %s may use %s together, and this one %s more; the user may use %s",
		which, w.Owner.Name, amount(r, have), amount(r, mine), amount(r, most)))
}
