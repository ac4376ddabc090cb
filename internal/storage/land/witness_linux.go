package land

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/storage/land/files"
	"github.com/forkbox/forkbox/internal/storage/land/sums"
)

// witness compares what is in the tree and in the slots with what the plan says
// should be there. What a landing or an undo took away is looked at when all of
// it is done: whatever another process did to it until then, by name or through a
// descriptor, shows. And what it put is looked at before it counts as its own
// doing: an edit that came right after is not.
type witness struct {
	who       *files.Actor
	tree      *files.Tree
	yard      *yard
	plan      *plan
	rewritten func(path string) func(content []byte) bool
	weights   map[inPlace]Tally // what is in the directories that are kept
	movedOut  map[int]Tally     // of what a record displaces, what was moved out of it before
}

// expectOut notes something that was moved out of what a record displaces.
func (w *witness) expectOut(r *record, t Tally) {
	out := w.movedOut[r.N]
	w.movedOut[r.N] = Tally{out.Sum + t.Sum, out.Count + t.Count}
}

// expected is what should be in the directory that a record displaces.
func (w *witness) expected(r *record) Tally { return r.Below.without(w.movedOut[r.N]) }

// landedLeft is what a landing left.
func (w *witness) landedLeft(r *record) (l left, err error) {
	l = left{N: r.N, Now: w.own(r.Path, w.putBy(r))}
	switch {
	case r.flips():
		l.Slot, err = w.displaced(r)
		l.Below = w.weights[inPlace{r.Place, r.Slot}]
	case r.Link != "":
		l.Slot = w.linked(r)
	}
	return l, err
}

// linked is the file that a record is another name of: so it has another time.
func (w *witness) linked(r *record) *files.Object {
	if other, err := w.tree.Look(r.Link); err == nil && r.New.Is(other) && r.New.SameContent(other) {
		return other
	}
	return nil
}

// putBy is what a landing put at a record's path; nil is nothing.
func (w *witness) putBy(r *record) *files.Object {
	switch r.Op {
	case Put:
		return r.New
	case Attr, Move:
		return w.stays(r, r.Path)
	}
	if now, err := w.tree.Look(r.Path); err != nil || !now.IsDir() {
		return nil
	}
	// Something else may have been moved to where it was removed.
	moves, err := w.plan.moves()
	i := slices.IndexFunc(moves, func(m *record) bool { return m.Path == r.Path })
	if err != nil || i < 0 {
		return nil
	}
	return w.stays(moves[i], r.Path)
}

// stays is what a record did not replace, as it should be at p now: its
// attributes may be others. overlayfs may have given it another number.
func (w *witness) stays(r *record, p string) *files.Object {
	want := *r.Old
	dir, name, err := w.tree.Parent(p)
	if err != nil {
		return &want
	}
	if now, err := files.Lstat(dir, name); err == nil && now != nil {
		want.Mode, want.UID, want.GID = want.Format()|now.Perm(), now.UID, now.GID
		if now.Ino != want.Ino && onOverlay(dir) {
			want.Ino = now.Ino
		}
	}
	return &want
}

// own is what is at a path when it is what was put there. Otherwise another
// process changed it right after: then it is what was put, as of no time at all,
// so that nothing is taken for it. What the caller may not look at is not there.
func (w *witness) own(p string, put *files.Object) *files.Object {
	if put == nil {
		return nil
	}
	now, err := w.tree.Look(p)
	if err != nil || put.AsBefore(now) {
		return now
	}
	was := *put
	was.Ctime = 0
	return &was
}

// displaced looks at what a flip took away.
func (w *witness) displaced(r *record) (*files.Object, error) {
	came, err := w.yard.of(r).lookSlot(r.Slot)
	if err != nil {
		return nil, failed(opLand, r.Path, err)
	}
	same := came == nil
	switch {
	case r.Entrywise:
		if err := w.displacedParts(r); err != nil {
			return nil, failed(opLand, r.Path, err)
		}
	case r.Old.IsDir():
		same = r.Old.Is(came) && w.weights[inPlace{r.Place, r.Slot}] == w.expected(r)
	case r.Old != nil:
		same = w.cameAs(r, r.Old, came)
	}
	if !same {
		return nil, conflict(opLand, r.Path, "it changed at the very moment")
	}
	return came, nil
}

// cameAs says whether what is in a slot is a file that was at the path. On
// overlayfs a rename may give it another number.
func (w *witness) cameAs(r *record, want, came *files.Object) bool {
	return want.AsBefore(came) || w.yard.of(r).Overlay && came != nil && want.SameContent(came) && files.SameAttrs(want, came)
}

func (w *witness) displacedParts(r *record) error {
	return w.plan.eachPart(r, func(p *part) error {
		came, err := w.yard.of(r).lookSlot(p.Slot)
		if err == nil && (came == nil || !p.Obj.IsDir() && !p.Obj.SameContent(came)) {
			return conflict(opLand, join(r.Path, p.Rel), "it changed at the very moment")
		}
		return err
	})
}

// undoneLeft is what an undo left, of a landing that left was.
func (w *witness) undoneLeft(r *record, was *left) left {
	l := left{N: r.N}
	switch {
	case r.flips():
		if came, err := w.yard.of(r).lookSlot(r.Slot); err == nil && was.Now.AsBefore(came) {
			l.Slot = came
		}
		l.Now = w.own(r.before(), w.returned(r, was))
	case r.Op == Attr || r.Op == Move:
		l.Now = w.own(r.before(), w.stays(r, r.before()))
	case r.Link != "":
		l.Slot = w.linked(r)
	}
	return l
}

// returned is what an undo put back.
func (w *witness) returned(r *record, was *left) *files.Object {
	if r.Entrywise {
		return w.stays(r, r.before())
	}
	return was.Slot
}

// landedAgain is what is left by an undo that was taken back. Where something
// has changed since the landing, what was recorded then stays.
func (w *witness) landedAgain(r *record, was *left) left {
	l := *was
	if now, err := w.tree.Look(r.Path); err == nil && was.Now != nil && was.Now.AsBefore(now) && files.SameAttrs(was.Now, now) && was.Now.Ctime != 0 {
		l.Now = now
	}
	if r.flips() {
		if came, err := w.yard.of(r).lookSlot(r.Slot); err == nil && was.Slot.AsBefore(came) {
			l.Slot = came
		}
	}
	return l
}

// changedSince says whether what a landing left at a path is different now.
func (w *witness) changedSince(r *record, l *left) (string, error) {
	return w.changedIn(w.tree, r.Path, r, l)
}

// changedIn is changedSince wherever it is now. The inode's time tells fast
// that it is not, or where a rename has set that, the other time; when they
// differ, the content and the attributes decide.
func (w *witness) changedIn(t *files.Tree, p string, r *record, l *left) (string, error) {
	now, err := t.Look(p)
	if errors.Is(err, unix.EACCES) && l.Now == nil {
		return "", nil // could not be looked at then, either
	}
	if err != nil {
		return "", err
	}
	switch {
	case now == nil && l.Now == nil:
		return "", nil
	case l.Now == nil:
		return "something is there again", nil
	case now == nil:
		return "it was deleted since", nil
	case now.Ino == l.Now.Ino && now.Ctime == l.Now.Ctime:
		return "", nil
	case now.Format() != l.Now.Format() || now.Rdev != l.Now.Rdev:
		return "it was replaced since", nil
	case !files.SameAttrs(now, l.Now):
		return "its mode or owner changed since", nil
	case t != w.tree && l.Now.AsBefore(now):
		return "", nil
	}
	return w.differentContent(t, p, r, now)
}

func (w *witness) differentContent(t *files.Tree, p string, r *record, now *files.Object) (string, error) {
	dir, name, err := t.Parent(p)
	if err != nil {
		return "", err
	}
	full, err := files.Look(dir, name)
	if err != nil {
		return "", err
	}
	if r.New != nil && !files.SameXattrs(full.Xattrs, r.New.Xattrs) {
		return "its attributes changed since", nil
	}
	if !r.hasSum() {
		return "", nil
	}
	sum, _, err := sumOf(dir, name, now)
	if errors.Is(err, unix.EACCES) {
		return "it cannot be read to see whether it changed", nil
	}
	if err == nil && !bytes.Equal(sum, r.Sum) && !bytes.Equal(sums.Plain(dir, name, now), r.Sum) && !w.onlyRewritten(dir, name, r, now) {
		return "its content changed since", nil
	}
	return "", err
}

// maxRewritten is the largest file that is compared in parts.
const maxRewritten = 16 << 20

// onlyRewritten says whether a file has other bytes than those that landed, and
// says the same.
func (w *witness) onlyRewritten(dir int, name string, r *record, now *files.Object) (same bool) {
	if w.rewritten == nil || !now.IsRegular() || now.Size > maxRewritten {
		return false
	}
	asLanded := w.rewritten(r.Path)
	if asLanded == nil {
		return false
	}
	fd, err := files.Open(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxRewritten+1))
	if err != nil || len(content) > maxRewritten {
		return false
	}
	w.who.Beside(func() { same = asLanded(content) }) // what landed is the daemon's to read
	return same
}
