//go:build linux

package native

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
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
	shown := map[string]bool{"/": true} // the root that the others are mounted in
	for _, v := range pl.views {
		if v.Kind == overlaid {
			shown[v.Path] = true
		}
	}
	hidden := func(mount, dir string) bool {
		return !shown[mount] && hasWork(mount, dir, pl.box.Dir)
	}
	uppers, err := st.store.Uppers(pl.box.ID)
	if err != nil && forkbox.CodeOf(err) != forkbox.NotFound {
		return err
	}
	for _, u := range uppers {
		if hidden(u.Mount, u.Dir) {
			return notShownIn(pl.box, u.Mount)
		}
	}
	for mount, dirs := range pl.layers {
		for _, dir := range dirs {
			if hidden(mount, dir) {
				return notShownIn(pl.box, mount)
			}
		}
	}
	return nil
}

// hasWork says whether what a box changed below a mount point has anything of its
// workspace: more than directories, which are copied on the way to a file.
func hasWork(mount, dir, workspace string) bool {
	switch {
	case forkbox.Within(workspace, mount):
		dir = filepath.Join(dir, strings.TrimPrefix(workspace, mount))
	case !forkbox.Within(mount, workspace):
		return false
	}
	found := false
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

func notShownIn(box forkbox.Box, mount string) error {
	return forkbox.Errorf(forkbox.Conflict, "start the box",
		"what it changed in %s cannot be shown: it lies over %s, below which something was mounted or unmounted since", box.Dir, mount).
		Hint("put the mounts below %s back to what they were: findmnt -R %s", mount, mount).
		Hint("or land it as it is: forkbox apply %s; or run the daemon as root, whose boxes do not depend on that", box.Name)
}
