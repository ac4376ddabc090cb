package gc

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

// CheckMounts names who's boxes, or for root all users', that hold filesystems
// which the host has unmounted: their disks stay busy.
func (m *Manager) CheckMounts(ctx context.Context, who forkbox.Owner) []forkbox.Check {
	ctx, end, err := m.core.Begin(ctx, "check mounts")
	if err != nil {
		return nil
	}
	defer end()
	whose := &who.UID
	if who.UID == 0 {
		whose = nil
	}
	boxes, err := m.core.Ledger.Boxes(ctx, whose, forkbox.Running)
	if err != nil {
		return []forkbox.Check{{Name: "mounts", Status: forkbox.Fail, Detail: err.Error()}}
	}
	var checks []forkbox.Check
	for _, box := range boxes {
		points := m.unmounted(box.ID)
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

func (m *Manager) unmounted(box string) []string {
	h := m.core.HandleOf(box)
	if h == nil {
		return nil
	}
	a := h.Current()
	if a == nil {
		return nil
	}
	i, ok := a.Instance.(pinning)
	if !ok {
		return nil
	}
	points, err := i.Unmounted()
	if err != nil {
		m.core.Log.Warn("cannot tell what a box holds", "box", box, "error", err)
	}
	return points
}
