//go:build linux

package native

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/provider/native/hostmounts"
	"github.com/forkbox/forkbox/internal/storage/change"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

// Blank says whether a box has written nothing over its layers.
func (p *Provider) Blank(_ context.Context, box forkbox.Box) (bool, error) {
	uppers, err := p.stacks.uppers(box)
	if err != nil {
		return false, err
	}
	for _, u := range uppers {
		if u.Dir == "" || p.stacks.bare(box, u.Mount) && onlyStubs(u.Dir) == nil {
			continue
		}
		covered := filepath.Join("/", box.Base.Root, u.Mount)
		if len(u.Layers) > 0 {
			covered = u.Layers[0]
		}
		empty, err := change.Empty(u.Dir)
		if err != nil || !empty || !p.stacks.looksLike(u.Dir, covered) {
			return false, err
		}
	}
	return true, nil
}

// Stacks says whether boxes lie over their layers, or begin as copies of them.
func (p *Provider) Stacks() bool { return p.store.Stacks() }

// Copy makes a layer of what a box wrote, which does not run and keeps it.
func (p *Provider) Copy(ctx context.Context, box forkbox.Box, layer string) error {
	_, err := p.store.Save(ctx, box.ID, layer, true)
	return err
}

// CopyRunning does so for one in which processes run. They stand still
// meanwhile and go on.
func (p *Provider) CopyRunning(ctx context.Context, box forkbox.Box, running forkbox.Instance, layer string) (paused time.Duration, err error) {
	i, ok := running.(*instance)
	if !ok {
		return 0, forkbox.Errorf(forkbox.Internal, "save the box", "%T is not an instance of this provider", running)
	}
	goOn, err := i.StandStill(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	_, err = p.store.Save(ctx, box.ID, layer, false)
	err = errors.Join(err, goOn())
	return time.Since(began), err
}

// Shelve turns what a box wrote, which does not run, into a layer: the box has
// nothing of its own afterwards. It can be repeated after a crash.
func (p *Provider) Shelve(ctx context.Context, box forkbox.Box, layer string) error {
	return p.store.Shelve(ctx, box.ID, layer, box.Shelved)
}

// ShelvedFrom says whose writes became a layer, and how often that had happened
// to them.
func (p *Provider) ShelvedFrom(layer string) (box string, times int, ok bool) {
	return p.store.ShelvedFrom(layer)
}

// Unshelve takes back a Shelve.
func (p *Provider) Unshelve(ctx context.Context, box forkbox.Box, layer string) error {
	return p.store.Unshelve(ctx, layer, box.ID)
}

// Settle gives a box that has nothing of its own yet a copy of its topmost
// layer, where this store copies instead of stacking, and says which layers
// the box lies over then.
func (p *Provider) Settle(ctx context.Context, box forkbox.Box) ([]string, error) {
	if p.store.Stacks() || len(box.Layers) == 0 {
		return box.Layers, nil
	}
	if layers := p.stacks.below(box); len(layers) < len(box.Layers) {
		return layers, nil // done, and not yet written down
	}
	if _, err := os.Lstat(p.store.Top(box.ID)); !errors.Is(err, os.ErrNotExist) {
		return box.Layers, err
	}
	if plan, err := p.builder.outline(box); err != nil || p.spares.has(plan.key()) {
		return box.Layers, err // one that is ready lies over them
	}
	if err := p.store.Clone(ctx, box.Layers[0], box.ID); err != nil {
		return nil, err
	}
	return box.Layers[1:], nil
}

// Layers lists the layers there are.
func (p *Provider) Layers(context.Context) ([]string, error) { return p.store.Layers() }

// RemoveLayer deletes a layer that nothing needs. It can be repeated.
func (p *Provider) RemoveLayer(ctx context.Context, layer string) error {
	return p.store.RemoveLayer(ctx, layer)
}

// Flatten makes one layer that shows what a stack of them shows.
func (p *Provider) Flatten(ctx context.Context, stack []string, into string) error {
	return p.stacks.flatten(ctx, stack, into, change.Flattening{XattrPrefix: p.stacks.xattrPrefix()}, openBase{})
}

// flatten does so for each filesystem that the layers are of.
func (st *stacks) flatten(ctx context.Context, stack []string, into string, how change.Flattening, base openBase) error {
	by, err := st.stack(stack)
	if err != nil {
		return err
	}
	draft, err := st.store.NewLayer(ctx, into)
	if err != nil {
		return err
	}
	hidden := how.Hidden
	for mount, dirs := range by {
		if how.Into, err = draft.Mount(mount); err != nil {
			break
		}
		how.Hidden = within(hidden, mount)
		how.Layers, how.Base = dirs, base.at(mount)
		if err = change.Flatten(ctx, how); err != nil {
			break
		}
	}
	if err != nil {
		return errors.Join(err, draft.Abort())
	}
	return draft.Keep()
}

// within are the paths that lie on a filesystem, from its root.
func within(paths []string, mount string) (list []string) {
	for _, path := range paths {
		if hostmounts.Below(path, mount) {
			list = append(list, "/"+strings.Trim(strings.TrimPrefix(path, mount), "/"))
		}
	}
	return list
}

// Storage says how layers are kept, and why so.
func (p *Provider) Storage() (name, why string) { return p.store.Driver() }

// Look shows the files of a box that does not run, without running it: a
// snapshot's, or those that a box would have. done takes that away again.
func (p *Provider) Look(ctx context.Context, box forkbox.Box) (root *os.File, done func(), err error) {
	s, _, err := p.spares.raise(box)
	for range attempts {
		if !vanished(err) || ctx.Err() != nil || p.mounts.Reread() != nil {
			break
		}
		s, _, err = p.spares.raise(box)
	}
	if err != nil {
		return nil, nil, p.builder.explain(err)
	}
	if root, err = s.instance.Root(); err != nil {
		p.spares.drop(s)
		return nil, nil, err
	}
	return root, func() { root.Close(); p.spares.drop(s) }, nil
}

// Roots lists the directories that bases other than reality were unpacked to.
func (p *Provider) Roots(context.Context) (dirs []string, err error) {
	names, err := p.store.Roots()
	for _, name := range names {
		dirs = append(dirs, p.store.Root(name))
	}
	return dirs, err
}

// RemoveRoot deletes one that nothing needs. It can be repeated.
func (p *Provider) RemoveRoot(ctx context.Context, dir string) error {
	return p.store.RemoveRoot(ctx, filepath.Base(dir))
}

// Usage says what takes the space.
func (p *Provider) Usage(ctx context.Context) (forkbox.Stored, error) {
	u, err := p.store.Usage(ctx)
	if err != nil {
		return forkbox.Stored{}, err
	}
	stored := forkbox.Stored{
		Boxes: storedBytes(u.Boxes), Layers: storedBytes(u.Layers), Roots: map[string]forkbox.StoredBytes{},
		Other: u.Trash.All + u.Other.All, Total: u.Total.All,
	}
	for name, b := range u.Roots {
		stored.Roots[p.store.Root(name)] = forkbox.StoredBytes(b)
	}
	return stored, nil
}

func storedBytes(of map[string]layers.Bytes) map[string]forkbox.StoredBytes {
	all := make(map[string]forkbox.StoredBytes, len(of))
	for id, b := range of {
		all[id] = forkbox.StoredBytes(b)
	}
	return all
}
