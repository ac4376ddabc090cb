package review

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/patch"
)

// maxText is the largest file that is read whole, for a patch or a merge.
const maxText = 32 << 20

// slurp reads a file that is not too large; ok is false for one that is.
func slurp(open func() (*os.File, error)) (content []byte, ok bool, err error) {
	f, err := open()
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	var buf bytes.Buffer
	n, err := io.Copy(&buf, io.LimitReader(f, maxText+1))
	return buf.Bytes(), n <= maxText, err
}

// side is one side of a change as text tools see it: a file's bytes or a
// symlink's target.
type side struct {
	content []byte
	mode    fs.FileMode
	there   bool // the path is something
	git     bool // which git can have: a file or symlink, not too large
	closed  bool // the box's owner may not read it, so nothing is made of it
}

func readSide(node func() (forkbox.Node, error), open func() (*os.File, error)) (s side, err error) {
	n, err := node()
	if isNotExist(err) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.there, s.mode = true, n.Mode
	switch {
	case n.Mode&fs.ModeSymlink != 0:
		s.content, s.git = []byte(n.Target), true
	case n.Mode.IsRegular() && n.Size <= maxText:
		s.content, s.git, err = slurp(open)
	}
	if errors.Is(err, fs.ErrPermission) {
		s.closed, err = true, nil
	}
	return s, err
}

// guarded is what sides can do that know whose box it is: they open what its
// owner may read. A daemon of root reads everything, and must hand none of it on:
// not as a patch, and not merged into a file that is the owner's.
type guarded interface {
	ShowOld() (*os.File, error)
	ShowNew() (*os.File, error)
}

// ShowOld opens what reality has, if the box's owner may read it.
func (e *Entry) ShowOld() (*os.File, error) {
	if s, ok := e.Sides.(guarded); ok {
		return s.ShowOld()
	}
	return e.Sides.OpenOld()
}

func (e *Entry) showNew() (*os.File, error) {
	if s, ok := e.Sides.(guarded); ok {
		return s.ShowNew()
	}
	return e.Sides.OpenNew()
}

func (e *Entry) newSide() (side, error) {
	if e.Kind == forkbox.Deleted {
		return side{}, nil
	}
	return readSide(e.New, e.showNew)
}

// oldSide is what the box's version is to be compared with: what reality had
// at the fence, where it has moved on and that is known.
func (v *View) oldSide(ctx context.Context, e *Entry) (side, error) {
	if e.Drifted && e.Type == "file" {
		if base, known, err := v.base(ctx, e); known || err != nil {
			return base, err
		}
	}
	if e.Kind == forkbox.Added {
		return side{}, nil
	}
	return e.realitySide()
}

// realitySide is what reality has now.
func (e *Entry) realitySide() (side, error) { return readSide(e.Sides.Old, e.ShowOld) }

// base is what reality had at the fence, where that is known; nothing, where
// the box was not shown what it had.
func (v *View) base(ctx context.Context, e *Entry) (s side, known bool, err error) {
	if v.overUnseen(e) {
		return s, true, nil
	}
	if v.Ancestors == nil {
		return s, false, nil
	}
	content, mode, known, absent, err := v.Ancestors.Base(ctx, e.Path)
	if known && !absent {
		s = side{content: content, mode: mode, there: true, git: true}
	}
	return s, known, err
}

// sameMode compares a mode with that of a base, of which git knows no more
// than whether it can be executed.
func sameMode(base, mode fs.FileMode) bool {
	if base.Type() != mode.Type() {
		return false
	}
	exec := base&0o111 != 0
	return base.Perm() == mode.Perm() || base.Perm()&^0o111 == 0o644 && exec == (mode&0o111 != 0)
}

// Describe adds the patch of a change, or with text false only its counts.
// What has no form in git stays without. The content of either side, where it
// is one file's, is returned: a rename may be made of it.
func (v *View) Describe(ctx context.Context, e *Entry, root string, text bool) (before, after []byte, err error) {
	if e.Hidden || !v.mayRead(e) {
		return nil, nil, nil
	}
	if err := v.describeDir(ctx, e, root, text); err != nil {
		return nil, nil, skipVanished(err)
	}
	old, err := v.oldSide(ctx, e)
	if err != nil {
		return nil, nil, skipVanished(err)
	}
	now, err := e.newSide()
	if err != nil {
		return nil, nil, skipVanished(err)
	}
	if old.there && old.mode.IsDir() {
		old = side{} // its files were told one by one
	}
	if old.there && !old.git || now.there && !now.git || !old.there && !now.there {
		return nil, nil, nil
	}
	f := patch.File{Old: old.content, New: now.content, OldMode: old.mode, NewMode: now.mode}
	if old.there {
		f.OldPath = relative(e.Path, root)
	}
	if now.there {
		f.NewPath = relative(e.Path, root)
	}
	return old.content, now.content, e.render(f, text)
}

// Rename makes the patch of a file that was moved.
func Rename(c *forkbox.Change, before, after []byte, root string, text bool) error {
	e := &Entry{Change: *c}
	e.Patch, e.Plus, e.Minus, e.Hunks = nil, 0, 0, 0
	err := e.render(patch.File{
		OldPath: relative(c.From, root), NewPath: relative(c.Path, root), OldMode: c.OldMode, NewMode: c.Mode,
		Old: before, New: after, Similarity: c.Similarity,
	}, text)
	*c = e.Change
	return err
}

// describeDir tells of the files of a directory that the box deleted, replaced
// or moved: git knows no directories.
func (v *View) describeDir(ctx context.Context, e *Entry, root string, text bool) error {
	if !e.OldMode.IsDir() || e.Kind != forkbox.Deleted && e.Kind != forkbox.Type && e.Kind != forkbox.Renamed {
		return nil
	}
	closed := v.newClosed(e)
	return e.Sides.Below(func(p string, n forkbox.Node, kept bool) error {
		if closed.has(p, n) || kept || ctx.Err() != nil {
			return ctx.Err()
		}
		f := patch.File{OldPath: relative(p, root), OldMode: n.Mode}
		if e.Kind == forkbox.Renamed {
			if n.Mode.IsRegular() || n.Mode&fs.ModeSymlink != 0 {
				f.OldPath, f.NewPath = relative(e.From+strings.TrimPrefix(p, e.Path), root), f.OldPath
				f.NewMode, f.Similarity = n.Mode, 100
				return e.render(f, text)
			}
			return nil
		}
		if !v.mayLook(n.Mode, n.UID, n.GID, 0o4) {
			return nil
		}
		s, err := readSide(func() (forkbox.Node, error) { return n, nil }, func() (*os.File, error) { return openNode(p, n) })
		if err != nil || !s.git {
			return skipVanished(err)
		}
		f.Old = s.content
		return e.render(f, text)
	})
}

// render adds the patch of one file to the change's.
func (e *Entry) render(f patch.File, text bool) error {
	var out bytes.Buffer
	var stats patch.Stats
	var err error
	if text {
		stats, err = patch.Render(&out, f)
		e.Patch = append(e.Patch, out.Bytes()...)
	} else {
		stats = patch.Count(f.Old, f.New)
	}
	e.Plus += stats.Plus
	e.Minus += stats.Minus
	e.Hunks += stats.Hunks
	e.Binary = e.Binary || stats.Binary
	return err
}

// mayRead says whether the box's owner may read what reality has, and what the
// box has: to move a file does not take the right to read it.
func (v *View) mayRead(e *Entry) bool {
	if v.Box.Owner.UID == 0 || Rootless() {
		return true
	}
	old, err := e.Sides.Old()
	if err == nil && old.Mode.IsRegular() && (!v.mayLook(old.Mode, old.UID, old.GID, 0o4) || refused(e.ShowOld)) {
		return false
	}
	now, err := e.New()
	if err != nil || !now.Mode.IsRegular() || now.UID == v.Box.Owner.UID {
		return true
	}
	return v.mayLook(now.Mode, now.UID, now.GID, 0o4) && !refused(e.showNew)
}

func refused(open func() (*os.File, error)) bool {
	f, err := open()
	if err == nil {
		f.Close()
	}
	return errors.Is(err, fs.ErrPermission)
}

// mayLook says whether the box's owner has the wanted rights (an octal digit).
func (v *View) mayLook(mode fs.FileMode, uid, gid int, want fs.FileMode) bool {
	who := v.Box.Owner
	if who.UID == 0 || os.Geteuid() != 0 {
		return true
	}
	bits := mode.Perm()
	switch {
	case uid == who.UID:
		bits >>= 6
	case inGroup(who, gid):
		bits >>= 3
	}
	return bits&want == want
}

func inGroup(who forkbox.Owner, gid int) bool {
	for _, g := range who.Groups {
		if g == gid {
			return true
		}
	}
	return who.GID == gid
}

// skipVanished: a box that runs may take away what is being looked at.
func skipVanished(err error) error {
	if isNotExist(err) {
		return nil
	}
	return err
}
