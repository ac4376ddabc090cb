//go:build linux

package native

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/change"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

// stacks says which directories the files of a box lie in, one over the other:
// its own, those of its layers, and what it was forked from.
type stacks struct {
	store    *layers.Store
	rootless bool
	scenery  *scenery
}

// below are the layers that what a box wrote lies over. One that began as a
// copy of the topmost lies over the rest, also where that is not yet written
// down.
func (st *stacks) below(box forkbox.Box) []string {
	if len(box.Layers) > 0 && !box.Bare && !st.store.Stacks() && st.store.Origin(box.ID) == box.Layers[0] {
		return box.Layers[1:]
	}
	return box.Layers
}

// stack finds the directories of layers, by the filesystem they are of.
func (st *stacks) stack(ids []string) (map[string][]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	stack := map[string][]string{}
	for _, id := range ids {
		uppers, err := st.store.LayerUppers(id)
		if err != nil {
			return nil, err
		}
		for _, u := range uppers {
			stack[u.Mount] = append(stack[u.Mount], u.Dir)
		}
	}
	return stack, nil
}

// uppers is what the box itself wrote, with the layers below that.
func (st *stacks) uppers(box forkbox.Box) (list []change.Upper, err error) {
	stack, err := st.stack(st.below(box))
	if err != nil {
		return nil, err
	}
	var own []layers.Upper
	if !box.Bare {
		if own, err = st.store.Uppers(box.ID); err != nil {
			return nil, err
		}
	}
	for _, u := range own {
		list = append(list, change.Upper{Mount: u.Mount, Dir: u.Dir, Layers: stack[u.Mount]})
		delete(stack, u.Mount)
	}
	for mount, dirs := range stack {
		list = append(list, change.Upper{Mount: mount, Layers: dirs})
	}
	slices.SortFunc(list, func(a, b change.Upper) int { return strings.Compare(a.Mount, b.Mount) })
	return list, nil
}

// layers makes what the overlays consist of: the veil, and the directories
// that the box's changes go to.
func (st *stacks) layers(ctx context.Context, pl *plan) error {
	pl.veil = pl.concealed.lay(pl.box, st.scenery.trusted)
	if st.rootless && pl.onReality() {
		if err := st.layer(ctx, pl, "/"); err != nil {
			return err
		}
	}
	for _, v := range pl.views {
		if v.Kind != overlaid {
			continue
		}
		if err := st.layer(ctx, pl, v.Path); err != nil {
			return err
		}
	}
	return nil
}

// layer makes the upper and work directory for one filesystem. The upper
// starts with the attributes of the directory it covers, a layer's or the
// base's: the overlay's root shows them.
func (st *stacks) layer(ctx context.Context, pl *plan, mount string) error {
	upper, made, err := st.store.NewUpper(pl.box.ID, mount)
	if err == nil && made {
		if err = st.likeBelow(upper, pl.real(mount), pl.layers[mount]); err != nil {
			_ = os.Remove(upper) // the next attempt begins as this one did
		}
	}
	if err != nil {
		return err
	}
	work, err := st.store.FreshWork(ctx, pl.box.ID, mount)
	pl.upper[mount], pl.work[mount] = upper, work
	return err
}

// likeBelow has the root of a new upper look like what it covers: the topmost
// layer or, where there is none, the base. What a box set of extended attributes is
// carried along; those of the base are not shown in boxes at all.
func (st *stacks) likeBelow(dir, base string, layers []string) error {
	if len(layers) > 0 {
		base = layers[0]
		if err := st.likeXattrs(dir, base); err != nil {
			return err
		}
	}
	var covered unix.Stat_t
	if err := unix.Stat(base, &covered); err != nil {
		return &os.PathError{Op: "look at", Path: base, Err: err}
	}
	if !st.rootless {
		if err := os.Chown(dir, int(covered.Uid), int(covered.Gid)); err != nil {
			return err
		}
	}
	if err := unix.Chmod(dir, covered.Mode&0o7777); err != nil {
		return &os.PathError{Op: "set the mode of", Path: dir, Err: err}
	}
	return nil
}

// likeXattrs copies extended attributes but for overlayfs's own.
func (st *stacks) likeXattrs(dir, from string) error {
	names := make([]byte, 64<<10)
	n, err := unix.Llistxattr(from, names)
	if err != nil || n == 0 {
		return nil // a filesystem without any
	}
	for _, name := range strings.Split(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if strings.HasPrefix(name, st.xattrPrefix()) {
			continue
		}
		value := make([]byte, 64<<10)
		n, err := unix.Lgetxattr(from, name, value)
		if err == nil {
			err = unix.Lsetxattr(dir, name, value[:n], 0)
		}
		if err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EOPNOTSUPP) {
			return err
		}
	}
	return nil
}

// xattrPrefix is that of overlayfs's own attributes.
func (st *stacks) xattrPrefix() string {
	if st.rootless {
		return "user.overlay."
	}
	return "trusted.overlay."
}

// bare says whether the filesystem at mount is the root directory of an
// unprivileged box, which is not reality's.
func (st *stacks) bare(box forkbox.Box, mount string) bool {
	return st.rootless && box.Base.IsReality() && mount == "/"
}

// looksLike says whether the root of an upper still is as it was made.
func (st *stacks) looksLike(dir, covered string) bool {
	var a, b unix.Stat_t
	if unix.Stat(dir, &a) != nil || unix.Stat(covered, &b) != nil {
		return false
	}
	return a.Mode == b.Mode && (st.rootless || a.Uid == b.Uid && a.Gid == b.Gid)
}
