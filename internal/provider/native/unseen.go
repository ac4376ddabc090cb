//go:build linux

package native

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

// checkShown refuses to start a box whose owner would not find in it what was
// changed in its workspace. Without root a box has an overlay for each directory
// that has no mount below it. When something was mounted there since, or is mounted
// no more, these are other directories, and what lies in the upper of one that is
// not among them is not shown. The box would go on from what reality has, and what
// is written then be hidden in turn.
func (st *stacks) checkShown(pl *plan) error {
	if !st.rootless || !pl.onReality() || pl.box.Dir == "" {
		return nil
	}
	mounts, err := st.notShown(pl, pl.box.Dir)
	if err != nil || len(mounts) == 0 {
		return err
	}
	return notShownIn(pl.box, mounts[0])
}

// Unshown lists the directories over which a box changed something that it does
// not show, as things are mounted now: see checkShown. In its workspace it is
// refused to start for that; elsewhere its owner should know.
func (p *Provider) Unshown(_ context.Context, box forkbox.Box) ([]string, error) {
	if !p.stacks.rootless || !box.Base.IsReality() {
		return nil, nil
	}
	pl, err := p.builder.outline(box)
	if err != nil {
		return nil, err
	}
	return p.stacks.notShown(pl, "/")
}

// notShown lists the mount points over which a box has something of a directory
// that the overlays of a plan do not show.
func (st *stacks) notShown(pl *plan, dir string) (mounts []string, err error) {
	shown := map[string]bool{"/": true} // the root that the others are mounted in
	for _, v := range pl.views {
		if v.Kind == overlaid {
			shown[v.Path] = true
		}
	}
	uppers, err := st.store.Uppers(pl.box.ID)
	if err != nil && forkbox.CodeOf(err) != forkbox.NotFound {
		return nil, err
	}
	for _, u := range uppers {
		if !shown[u.Mount] && u.Has(dir) {
			mounts = append(mounts, u.Mount)
		}
	}
	for mount, dirs := range pl.layers {
		if !shown[mount] && slices.ContainsFunc(dirs, func(in string) bool { return layers.Upper{Mount: mount, Dir: in}.Has(dir) }) {
			mounts = append(mounts, mount)
		}
	}
	slices.Sort(mounts)
	return slices.Compact(mounts), nil
}

func notShownIn(box forkbox.Box, mount string) error {
	return forkbox.Errorf(forkbox.Conflict, "start the box",
		"what it changed in %s cannot be shown: it lies over %s, below which something was mounted or unmounted since", box.Dir, mount).
		Hint("put the mounts below %s back to what they were: findmnt -R %s", mount, mount).
		Hint("or land it as it is: forkbox apply %s; or run the daemon as root, whose boxes do not depend on that", box.Name)
}
