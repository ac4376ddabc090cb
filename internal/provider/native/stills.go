//go:build linux

package native

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/provider/native/hostmounts"
	"github.com/forkbox/forkbox/internal/storage/change"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

// TakeStill makes a layer that has files and directories of the machine as copy
// puts them there. A box that lies over it sees those and nothing of what the
// machine has in their place, now or later: not reality's files under a copy of
// some of them.
func (p *Provider) TakeStill(ctx context.Context, layer string, owner forkbox.Owner, paths []string, copy func(put func(path string) (string, error)) error) error {
	draft, err := p.store.NewLayer(ctx, layer)
	if err != nil {
		return err
	}
	s := &still{scenery: p.scenery, draft: draft, xattr: p.stacks.xattrPrefix() + "opaque", owner: owner, at: map[string]string{}}
	if err = s.findMounts(); err == nil {
		err = copy(s.put)
	}
	if err == nil {
		err = s.cover(paths)
	}
	if err != nil {
		return errors.Join(err, draft.Abort())
	}
	return draft.Keep()
}

// SettleStill makes a layer of what a box at rest wrote at some paths, to lie over
// the still that the box began with. Nothing else of the box is in it, and the box
// has it no more.
func (p *Provider) SettleStill(ctx context.Context, layer string, owner forkbox.Owner, box forkbox.Box, paths []string) error {
	uppers, err := p.stacks.uppers(box)
	if err != nil {
		return err
	}
	draft, err := p.store.NewLayer(ctx, layer)
	if err != nil {
		return err
	}
	s := &still{scenery: p.scenery, draft: draft, owner: owner, at: map[string]string{}}
	if err = s.findMounts(); err == nil {
		err = s.takeOver(ctx, uppers, paths)
	}
	if err != nil {
		return errors.Join(err, draft.Abort())
	}
	return draft.Keep()
}

// takeOver has what lies at paths of a box's upper directories be in the layer.
func (s *still) takeOver(ctx context.Context, uppers []change.Upper, paths []string) error {
	for _, path := range paths {
		on := innermost(uppers, path)
		if on == nil || on.Dir == "" {
			continue
		}
		from := filepath.Join(on.Dir, strings.TrimPrefix(path, on.Mount))
		if _, err := os.Lstat(from); errors.Is(err, os.ErrNotExist) {
			continue // it wrote nothing there
		}
		into, err := s.put(path)
		if err == nil {
			err = s.draft.Adopt(ctx, from, into)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// StillDir is a directory on the filesystem that stills lie on.
func (p *Provider) StillDir() string { return p.home }

// still is a layer with the data of services while it is being made.
type still struct {
	scenery *scenery
	draft   *layers.Draft
	xattr   string
	owner   forkbox.Owner
	mounts  []string          // where the overlays of a box begin
	at      map[string]string // where paths were put
}

func (s *still) findMounts() error {
	box := forkbox.Box{Owner: s.owner}
	c, err := s.scenery.concealment(box)
	if err != nil {
		return err
	}
	views, err := s.scenery.views(&plan{box: box, rootless: s.scenery.rootless, concealed: c})
	for _, v := range views {
		if v.Kind == overlaid {
			s.mounts = append(s.mounts, v.Path)
		}
	}
	return err
}

// put says where the copy of a path goes, and makes the directories that lead
// there as the machine has them.
func (s *still) put(path string) (string, error) {
	mount := ""
	for _, m := range s.mounts {
		if path != m && hostmounts.Below(path, m) && len(m) > len(mount) {
			mount = m
		}
	}
	if mount == "" {
		return "", forkbox.Errorf(forkbox.Unsupported, "copy the service's data", "boxes do not see the filesystem of %s as one that they can change, or it is all that is mounted there", path)
	}
	root, err := s.draft.Mount(mount)
	if err == nil {
		err = s.like(root, mount)
	}
	if err != nil {
		return "", err
	}
	into := filepath.Join(root, strings.TrimPrefix(path, mount))
	if err := s.makeParents(root, mount, filepath.Dir(into)); err != nil {
		return "", err
	}
	s.at[path] = into
	return into, nil
}

// makeParents makes the directories between the root of a filesystem and dir.
func (s *still) makeParents(root, mount, dir string) error {
	if dir == root {
		return nil
	}
	if err := s.makeParents(root, mount, filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return s.like(dir, filepath.Join(mount, strings.TrimPrefix(dir, root)))
}

// like gives a directory the owner and mode of the machine's: overlayfs shows
// those of the topmost layer.
func (s *still) like(dir, real string) error {
	st, err := os.Lstat(real)
	if err != nil {
		return err
	}
	if uid, gid := ownerOf(st); !s.scenery.rootless {
		if err := os.Lchown(dir, uid, gid); err != nil {
			return err
		}
	}
	return unix.Chmod(dir, uint32(int(st.Mode().Perm())|special(st.Mode())))
}

// cover has each directory of the data hide what lies below it, and hides what the
// data did not have.
func (s *still) cover(paths []string) error {
	for _, path := range paths {
		into, ok := s.at[path]
		if !ok {
			return forkbox.Errorf(forkbox.Internal, "copy the service's data", "%s was not copied", path)
		}
		st, err := os.Lstat(into)
		switch {
		case errors.Is(err, os.ErrNotExist):
			// There was none at that moment: what the machine has there, then or later,
			// does not belong to the copy.
			err = unix.Mknod(into, unix.S_IFCHR, 0)
		case err == nil && st.IsDir():
			err = unix.Lsetxattr(into, s.xattr, []byte("y"), 0)
		}
		if err != nil {
			return &os.PathError{Op: "mark", Path: into, Err: err}
		}
	}
	return nil
}
