package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// pinning is an instance that can say which filesystems it holds that the host
// has unmounted.
type pinning interface {
	Unmounted() (points []string, err error)
}

// CheckMounts names who's boxes, or for root everybody's, that hold filesystems
// which the host has unmounted: their disks stay busy.
func (e *Engine) CheckMounts(ctx context.Context, who forkbox.Owner) []forkbox.Check {
	ctx, end, err := e.begin(ctx, "check mounts")
	if err != nil {
		return nil
	}
	defer end()
	whose := &who.UID
	if who.UID == 0 {
		whose = nil
	}
	boxes, err := e.ledger.Boxes(ctx, whose, forkbox.Running)
	if err != nil {
		return []forkbox.Check{{Name: "mounts", Status: forkbox.Fail, Detail: err.Error()}}
	}
	var checks []forkbox.Check
	for _, box := range boxes {
		points := e.unmounted(box.ID)
		if len(points) == 0 {
			continue
		}
		slices.Sort(points)
		checks = append(checks, forkbox.Check{
			Name: "mounts", Status: forkbox.Warn,
			Detail: fmt.Sprintf("box %s still holds what was unmounted from %s: that disk stays busy", box.Name, strings.Join(points, ", ")),
			Remedy: "let go of it: forkbox stop " + box.Name,
		})
	}
	if len(checks) == 0 {
		return []forkbox.Check{{Name: "mounts", Status: forkbox.OK, Detail: "no box holds a filesystem that was unmounted"}}
	}
	return checks
}

func (e *Engine) unmounted(box string) []string {
	h := e.handle(box)
	if h == nil {
		return nil
	}
	a := h.current()
	if a == nil {
		return nil
	}
	i, ok := a.instance.(pinning)
	if !ok {
		return nil
	}
	points, err := i.Unmounted()
	if err != nil {
		e.log.Warn("cannot tell what a box holds", "box", box, "error", err)
	}
	return points
}
