// Package review looks at a box's changes as its owner does: whose business
// each of them is, what reality did at the same path after the fence, and what
// an apply would make of the two.
//
// It decides and changes nothing. What it decides is carried out by package
// land.
package review

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/scope"
)

// Ancestors knows what reality was at the fence.
type Ancestors interface {
	// Base is a file's content then, or a symlink's target. known says that it
	// is; absent, with known, that there was nothing.
	Base(ctx context.Context, path string) (content []byte, mode fs.FileMode, known, absent bool, err error)
}

// View is the changes of one box.
type View struct {
	Box       forkbox.Box
	Root      string // the workspace, "" if there is none
	Sorter    *scope.Sorter
	Marks     *Marks
	Left      *Inodes // by applies of this box, and their undos
	Ancestors Ancestors
	// Known is what the changes were made to, where they come from another
	// machine: reality that is the same has not drifted.
	Known map[string]forkbox.BaseSum
	// Changes reads them, in path order.
	Changes func(ctx context.Context, yield func(forkbox.Change, forkbox.Sides) error) error

	// Rewritten compares two versions of a file that tools write anew without
	// changing what it says; it is nil for a path where every byte counts. It may
	// be nil itself.
	Rewritten func(path string) func(a, b []byte) bool

	// Still says that the other side is no reality that moves on.
	Still bool
	// Passed is told of directories that are not selected: something below
	// them may be. It may be nil.
	Passed func(*Entry) error

	Summary  forkbox.Summary // of what was read, after Each
	packages scope.Packages

	lastDir   string // see dirMoved
	lastMoved bool
	ways      map[string]bool // see wayMoved
	open      []string        // see Unresolved; sorted
}

// Entry is one change that is being looked at.
type Entry struct {
	forkbox.Change
	Sides forkbox.Sides

	node *forkbox.Node // see New
}

// New is what the box has at the path, as it was when a caller first asked: a
// box that runs must not be able to show one thing to the review and have
// another one land.
func (e *Entry) New() (forkbox.Node, error) {
	if e.node == nil {
		n, err := e.Sides.New()
		if err != nil {
			return n, err
		}
		e.node = &n
	}
	return *e.node, nil
}

// differs says whether an attribute of the two sides does.
func (e *Entry) differs(attrs ...string) bool {
	return slices.ContainsFunc(e.Attrs, func(a string) bool { return slices.Contains(attrs, a) })
}

// Each yields the changes that are selected, and counts them all. What has
// landed before is none, nor is what reality did.
func (v *View) Each(ctx context.Context, chosen *Chosen, yield func(*Entry) error) error {
	return v.each(ctx, chosen, func(e *Entry) bool {
		return v.Landed(e) || v.neverSeen(ctx, e) || v.onlyCopied(ctx, e) || v.onlyHolds(ctx, e)
	}, yield)
}

// EachWith is Each with what has landed before.
func (v *View) EachWith(ctx context.Context, chosen *Chosen, yield func(*Entry) error) error {
	return v.each(ctx, chosen, func(e *Entry) bool { return v.neverSeen(ctx, e) }, yield)
}

func (v *View) each(ctx context.Context, chosen *Chosen, skip func(*Entry) bool, yield func(*Entry) error) error {
	v.Summary.Root, v.Summary.Fence = v.Root, v.Box.Base.Fence
	err := v.Changes(ctx, func(c forkbox.Change, sides forkbox.Sides) error {
		e := &Entry{Change: c, Sides: sides}
		if skip(e) {
			if e.Kind == forkbox.Added {
				return v.pass(e) // reality has lost it since: what lands in it needs it
			}
			return nil
		}
		v.sort(ctx, e)
		if !chosen.has(e) {
			return v.pass(e)
		}
		if e.Drifted = v.drifted(e) && !v.onlyRewritten(ctx, e); e.Drifted {
			v.Summary.Drifted++
		}
		v.Summary.Add(e.Change)
		return yield(e)
	})
	v.Summary.Packages = v.packages.Lines()
	return err
}

func (v *View) pass(e *Entry) error {
	if v.Passed == nil || e.Type != "dir" || e.Kind == forkbox.Deleted {
		return nil
	}
	return v.Passed(e)
}

// sort says whose business a change is.
func (v *View) sort(ctx context.Context, e *Entry) {
	v.learn(e)
	e.Scope = v.Sorter.Scope(e.Change)
	if e.Scope == forkbox.Noise && v.tracked(ctx, e) {
		e.Scope = forkbox.Workspace
	}
	v.packages.Add(e.Change)
	switch e.Scope {
	case forkbox.Workspace:
		v.Summary.Workspace.Add(e.Change)
	case forkbox.System:
		v.Summary.System.Add(e.Change)
	case forkbox.Noise:
		v.Summary.Noise.Add(e.Change)
	}
}

// tracked says whether git tracks a path: then ignore files do not count.
func (v *View) tracked(ctx context.Context, e *Entry) bool {
	t, ok := v.Ancestors.(interface {
		Tracks(ctx context.Context, path string) (bool, error)
	})
	if !ok || e.Kind == forkbox.Added || v.Root == "" || !forkbox.Within(e.Path, v.Root) {
		return false
	}
	tracked, err := t.Tracks(ctx, e.Path)
	return err == nil && tracked
}

// maxIgnore is more than any ignore file that a person wrote.
const maxIgnore = 1 << 20

// learn reads an ignore file that the box added.
func (v *View) learn(e *Entry) {
	name := path.Base(e.Path)
	if e.Kind != forkbox.Added || e.Type != "file" || name != ".gitignore" && name != ".forkboxignore" {
		return
	}
	f, err := e.Sides.OpenNew()
	if err != nil {
		return
	}
	defer f.Close()
	if content, err := io.ReadAll(io.LimitReader(f, maxIgnore)); err == nil {
		v.Sorter.Learn(e.Path, content)
	}
}

// Landed says whether all of a change has landed before, and the box did
// nothing at its path since. That reality may have gone on is drift, not a
// change of the box.
func (v *View) Landed(e *Entry) bool {
	m, ok := v.Marks.Get(e.Path)
	if !ok || !m.Whole {
		return false
	}
	if m.Deleted || e.Kind == forkbox.Deleted {
		// A sync since may have brought the file back into the box, which then
		// deleted it once more.
		return m.Deleted && e.Kind == forkbox.Deleted && m.Landed
	}
	id, err := newIdentity(e.Sides)
	if err != nil || id.Ino != m.Box.Ino {
		return false
	}
	return id.Ctime == m.Box.Ctime || e.Kind == forkbox.Added && e.Type == "dir" && isLandedDir(e.Sides, m.Box)
}

// dated is for sides that know when inodes were made; 0 is unknown.
type dated interface {
	Born() int64         // what the box has
	BornOld() int64      // what reality has
	UnshownSince() int64 // the box's directory that hides reality's
}

// isLandedDir says of a directory that landed whether it is still that one. What
// happened in it sets its time: reality deleted it, and a sync what was in it.
func isLandedDir(sides forkbox.Sides, landed forkbox.Identity) bool {
	d, ok := sides.(dated)
	return ok && d.Born() != 0 && d.Born() <= landed.Ctime
}

// neverSeen says whether a path is missing in the box that reality made in a
// directory of the box's own, which has landed: the box shows only what is its
// own there, and has not deleted it. Since a sync it may show it, and then it can.
func (v *View) neverSeen(ctx context.Context, e *Entry) bool {
	if e.Kind != forkbox.Deleted || !unshown(e.Sides) || v.Marks.Len() == 0 || v.Marks.landed(e.Path) {
		return false
	}
	return v.ofReality(e.Path) || !v.Unresolved(e.Path) && madeSince(ctx, v.Ancestors, e)
}

// madeSince says whether what reality has was made after the box's own directory
// was, in which it is missing: the box deleted another directory, that had none of
// it. Not so where it is known that there was something of that name, which
// reality may have saved anew.
func madeSince(ctx context.Context, then Ancestors, e *Entry) bool {
	d, ok := e.Sides.(dated)
	if !ok {
		return false
	}
	if made := d.UnshownSince(); made == 0 || d.BornOld() <= made {
		return false
	}
	if dirs, ok := then.(interface {
		Directory(path string) (number uint64, known bool)
	}); ok {
		if _, known := dirs.Directory(e.Path); known {
			return false
		}
	}
	known, ok := then.(had)
	if !ok {
		return false
	}
	there, err := known.Had(ctx, e.Path)
	return err == nil && !there
}

// unshown says whether the box was not shown what reality has: it lies in a
// directory of the box's own.
func unshown(sides forkbox.Sides) bool {
	s, ok := sides.(interface{ Unshown() bool })
	return ok && s.Unshown()
}

// onlyCopied says whether a directory differs because reality gave it another
// mode: the box has it as it was at the fence, because something in it changed.
// That reality's may not count as drift: an apply has touched it since.
func (v *View) onlyCopied(ctx context.Context, e *Entry) bool {
	if e.Kind != forkbox.Mode || e.Type != "dir" || e.differs("owner", "xattr") {
		return false
	}
	base, known, err := v.base(ctx, e)
	n, err2 := e.New()
	return err == nil && err2 == nil && known && base.there && base.mode == n.Mode
}

// onlyHolds says whether a directory that reality deleted is in the box for what
// landed in it, and as it was at the fence, as far as that is known: the box did
// nothing to it. What is in it and has not landed is asked about by itself.
func (v *View) onlyHolds(ctx context.Context, e *Entry) bool {
	if e.Kind != forkbox.Added || e.Type != "dir" || !v.Marks.below(e.Path) || !e.Sides.Copied() {
		return false
	}
	base, known, err := v.base(ctx, e)
	n, err2 := e.New()
	return err == nil && err2 == nil && (!known || base.there && base.mode == n.Mode)
}

// overUnseen says whether a box made something where reality had made something
// else that the box was not shown. When that was does not matter.
func (v *View) overUnseen(e *Entry) bool {
	return e.Kind != forkbox.Deleted && unshown(e.Sides) && v.ofReality(e.Path)
}

// ofReality says whether what reality has at a path, in a directory of the box's
// own that has landed, did not land there from the box.
func (v *View) ofReality(p string) bool {
	if v.Marks.Len() == 0 {
		return false
	}
	if v.Marks.landed(p) {
		return false
	}
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		if m, _ := v.Marks.Get(dir); m.Added {
			return true
		}
	}
	return false
}

// Unseen lists what reality has in directories of the box's own, which have
// landed, and the box does not show.
func (v *View) Unseen(ctx context.Context) (unseen []forkbox.Change, err error) {
	if v.Marks.Len() == 0 {
		return nil, nil
	}
	err = v.Changes(ctx, func(c forkbox.Change, sides forkbox.Sides) error {
		if v.neverSeen(ctx, &Entry{Change: c, Sides: sides}) {
			unseen = append(unseen, c)
		}
		return nil
	})
	return unseen, err
}

// drifted says whether reality changed a path after the fence. Whatever is
// done to a file sets its inode's time.
func (v *View) drifted(e *Entry) bool {
	if v.Still || e.Hidden {
		return false
	}
	if e.Kind == forkbox.Renamed {
		return v.replaced(e.From)
	}
	id, err := oldIdentity(e.Sides)
	if err != nil {
		return false
	}
	if v.asKnown(e.Path, id) {
		return false
	}
	wasDir := e.Type == "dir" && e.Kind != forkbox.Type || e.Kind == forkbox.Deleted && e.OldMode.IsDir()
	if wasDir {
		// Adding or deleting a file in a directory sets its times, too. Both
		// of them: where only the inode's is later, its attributes changed.
		// They may have been changed before that as well: where the box has
		// another mode, what it was has to be known.
		old, err := e.Sides.Old()
		if err == nil && e.Kind == forkbox.Deleted && v.wayMoved(path.Dir(e.Path)) {
			return true // it may be another one
		}
		return err == nil && v.since(e.Path, old.Identity) &&
			(old.ModTime.UnixNano() != old.Ctime || e.Kind == forkbox.Mode && e.differs("mode"))
	}
	return v.since(e.Path, id) || v.wayMoved(path.Dir(e.Path)) || v.overUnseen(e)
}

// since says whether what is at a path was changed after the fence, other than
// by an apply of this box.
func (v *View) since(p string, id forkbox.Identity) bool {
	if id.Ctime < v.Box.Base.Fence.UnixNano() {
		return false
	}
	m, ok := v.Marks.Get(p)
	if ok && m.Reality.Ino == id.Ino && m.Reality.Ctime == id.Ctime {
		return m.Merged // to the box it stays changed by reality
	}
	return !v.Left.Has(id)
}

// sinceBelow is since for what is in a directory that goes. Adding and deleting
// files in one sets both of its times; where they differ, its attributes
// changed, or it was moved there with files that keep their times. What a sync
// could not show to the box counts as changed, whenever that was.
func (v *View) sinceBelow(p string, n forkbox.Node) bool {
	return v.Unresolved(p) || v.since(p, n.Identity) && (!n.Mode.IsDir() || n.ModTime.UnixNano() != n.Ctime) && !v.asKnown(p, n.Identity)
}

// Since says whether reality has something else at a path than what an apply
// of this box brought there.
func (v *View) Since(e *Entry) bool {
	m, _ := v.Marks.Get(e.Path)
	id, err := oldIdentity(e.Sides)
	if err != nil {
		return !m.Deleted
	}
	return m.Merged || m.Reality.Ino != id.Ino || m.Reality.Ctime != id.Ctime
}

// Age is how long ago the box was forked, or synced.
func (v *View) Age(now time.Time) time.Duration { return now.Sub(v.Box.Base.Fence) }

// quick is for sides that know identities without reading the rest.
type quick interface {
	OldIdentity() (forkbox.Identity, error)
	NewIdentity() (forkbox.Identity, error)
}

func oldIdentity(s forkbox.Sides) (forkbox.Identity, error) {
	if q, ok := s.(quick); ok {
		return q.OldIdentity()
	}
	n, err := s.Old()
	return n.Identity, err
}

func newIdentity(s forkbox.Sides) (forkbox.Identity, error) {
	if q, ok := s.(quick); ok {
		return q.NewIdentity()
	}
	n, err := s.New()
	return n.Identity, err
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// relative is a path as a patch has it: from the workspace where that is
// meant, else from the root.
func relative(p, root string) string {
	if root != "" && root != "/" && forkbox.Within(p, root) {
		return strings.TrimPrefix(strings.TrimPrefix(p, root), "/")
	}
	return strings.TrimPrefix(p, "/")
}

// Head is the commit that the workspace had at the fence, "" if unknown.
func (v *View) Head() string {
	if h, ok := v.Ancestors.(interface{ Head() string }); ok {
		return h.Head()
	}
	return ""
}
