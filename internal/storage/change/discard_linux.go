package change

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// Discard makes a box be as its base again where the changes are, by taking
// out of the upper directories what makes it differ: the base shows again. The
// box must not run. bin is a directory on the same filesystem; what is taken
// out ends up there, to be deleted.
//
// Layers below the upper directory are not written to. Where a change comes
// from one of them, the upper directory gets a copy of what the base has, or
// the mark of a deletion.
//
// A directory that was moved is put back where it was. That is refused, and
// nothing is done, where something else that stays is in its way.
func Discard(ctx context.Context, src Source, changes []forkbox.Change, bin string) error {
	const op = "discard changes"
	fd, err := unix.Open(bin, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return forkbox.Errorf(forkbox.Internal, op, "open %s: %w", bin, err)
	}
	defer unix.Close(fd)
	d := &discarder{ctx: ctx, src: src, bin: fd}
	if err := d.plan(ctx, changes); err != nil {
		return forkbox.Wrap(op, err)
	}
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.one(c); err != nil {
			return forkbox.Errorf(forkbox.Internal, op, "%q: %w", rawPath(c), err)
		}
	}
	return nil
}

func rawPath(c forkbox.Change) string {
	if len(c.PathBytes) > 0 {
		return string(c.PathBytes)
	}
	return c.Path
}

type discarder struct {
	ctx   context.Context
	src   Source
	bin   int
	n     int      // names used in the bin
	drops []string // what is taken out, with all below it; sorted by Compare
	moved []move   // directories that the box moved
}

// one discards a change, unless it goes with what it lies in.
func (d *discarder) one(c forkbox.Change) error {
	path := rawPath(c)
	if staysDir(c) {
		if d.goes(path) {
			return nil
		}
		return d.reset(path)
	}
	if _, found := slices.BinarySearchFunc(d.drops, path, forkbox.ComparePaths); !found {
		return nil
	}
	// First the marks that say that something is not where it was: should this
	// be interrupted, it is in two places and not in none.
	for _, m := range d.moved {
		if at := d.inBox(m.from); forkbox.Within(m.path, path) && !d.goes(at) {
			if err := d.drop(at); err != nil {
				return err
			}
		}
	}
	return d.drop(path)
}

// staysDir says of a change that it is about the attributes of a directory: it
// stays, with all that is in it.
func staysDir(c forkbox.Change) bool { return c.Kind == forkbox.Mode && c.Type == "dir" }

// level is one directory on the way to a path, in the upper and in the base.
type level struct {
	upper, base int
	mount       string // of the first level: where its filesystem begins
	origin      string // where base lies, from the root of its filesystem
	opaque      bool   // the base does not show through
}

// withPath opens the directories that lead to a path, and what is there: last
// is its own level when it is a directory in the upper, of which only the
// upper is known otherwise.
func (d *discarder) withPath(path string, do func(way []level, name string) error) error {
	u, ok := d.upperOf(path)
	if !ok {
		return nil
	}
	var way []level
	defer func() {
		for _, l := range way {
			closeDir(l.upper)
			closeDir(l.base)
		}
	}()
	top, err := unix.Open(u.Dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	base, err := unix.Open(filepath.Join(d.src.Base, u.Mount), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		base = none
	}
	way = append(way, level{upper: top, base: base, mount: u.Mount, opaque: d.isOpaque(top)})
	rel := strings.Trim(strings.TrimPrefix(path, u.Mount), "/")
	if rel == "" {
		return do(way, ".")
	}
	names := strings.Split(rel, "/")
	for _, name := range names[:len(names)-1] {
		next, ok, err := d.step(way, name)
		if err != nil || !ok {
			return err
		}
		way = append(way, next)
	}
	return do(way, names[len(names)-1])
}

// step enters a directory of the upper. ok is false when the box has nothing
// of its own there.
func (d *discarder) step(way []level, name string) (next level, ok bool, err error) {
	last := way[len(way)-1]
	upper, err := openDir(last.upper, name, beneath)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return next, false, nil
	}
	if err != nil {
		return next, false, err
	}
	next = level{upper: upper, base: none, origin: originOf(last.origin, name), opaque: d.isOpaque(upper)}
	baseDir, baseName := last.base, name
	if to, moved := redirect(upper, ".", last.origin, d.src.XattrPrefix); moved && !next.opaque {
		next.origin, baseDir, baseName = to, way[0].base, to
	} else {
		next.opaque = next.opaque || last.opaque
	}
	if next.opaque && d.movedAway(path.Join(way[0].mount, next.origin)) {
		return next, true, nil // the box made another one in its place
	}
	if fd, err := openPath(baseDir, baseName); err == nil {
		next.base = fd
	}
	return next, true, nil
}

func (d *discarder) isOpaque(dir int) bool {
	value, _ := xattr(dir, ".", d.src.XattrPrefix+"opaque")
	return string(value) == "y"
}

// upperOf is the filesystem that a path lies on.
func (d *discarder) upperOf(path string) (on Upper, ok bool) {
	for _, u := range d.src.Uppers {
		if forkbox.Within(path, u.Mount) && (!ok || len(u.Mount) > len(on.Mount)) {
			on, ok = u, true
		}
	}
	return on, ok
}

// drop takes what the box has at a path out of the upper, so that the base
// shows: a file, a directory, or the mark of a deletion.
func (d *discarder) drop(path string) error {
	if u, ok := d.upperOf(path); ok && len(u.Layers) > 0 {
		return d.withSites(d.ctx, u, path, func(t *terrain, name string) error {
			if name == "." {
				return d.resetAttributes([]level{t.level()}, name)
			}
			return t.restore(name)
		})
	}
	return d.withPath(path, func(way []level, name string) error {
		if name == "." {
			return d.resetAttributes(way, name)
		}
		parent := way[len(way)-1]
		if _, err := lstatIn(parent.base, name); parent.opaque && err == nil {
			if err := d.clear(way, name); err != nil {
				return err
			}
		}
		return d.binned(parent.upper, name)
	})
}

func (d *discarder) binned(dir int, name string) error {
	for {
		d.n++
		to := fmt.Sprintf("discarded-%d-%d", unix.Getpid(), d.n)
		err := writable(dir, name, func() error {
			return unix.Renameat2(dir, name, d.bin, to, unix.RENAME_NOREPLACE)
		})
		switch {
		case errors.Is(err, unix.ENOENT):
			return nil // the base shows already
		case errors.Is(err, unix.EEXIST):
			continue
		}
		return err
	}
}

// clear lets the base show through directories that hid all of it: what they
// hid is now marked as deleted, name by name, except what is to show. The
// marks come first, and the innermost directory is opened first: whatever
// interrupts this, nothing shows that the box had deleted.
func (d *discarder) clear(way []level, name string) error {
	first := len(way) - 1
	for first > 0 && way[first-1].opaque && !d.isMoved(way[first]) {
		first--
	}
	for i := first; i < len(way); i++ {
		if err := d.hideAll(way, i, name); err != nil {
			return err
		}
	}
	for i := len(way) - 1; i >= first; i-- {
		err := unix.Fremovexattr(way[i].upper, d.src.XattrPrefix+"opaque")
		if err = ignore(err, unix.ENODATA); err != nil {
			return err
		}
	}
	return nil
}

func (d *discarder) isMoved(l level) bool {
	_, moved := redirect(l.upper, ".", "", d.src.XattrPrefix)
	return moved
}

// hideAll marks what the base has in a directory on the way as deleted, except
// the way itself.
func (d *discarder) hideAll(way []level, i int, name string) error {
	l := way[i]
	dir, err := openDir(l.base, ".", beneath)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	names, err := linux.Names(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if i == len(way)-1 && n == name {
			continue
		}
		if err := d.hide(way, i, n); err != nil {
			return err
		}
	}
	return nil
}

// hide keeps a name of the base from showing in a directory that is opaque no
// longer.
func (d *discarder) hide(way []level, i int, name string) error {
	l := way[i]
	up, err := lstat(l.upper, name)
	if errors.Is(err, unix.ENOENT) {
		return writable(l.upper, "", func() error { return unix.Mknodat(l.upper, name, unix.S_IFCHR, 0) })
	}
	if err != nil || !up.isDir() {
		return err
	}
	dir, err := openDir(l.upper, name, beneath)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if _, moved := redirect(dir, ".", "", d.src.XattrPrefix); moved || d.isOpaque(dir) || i+1 < len(way) && sameInode(dir, way[i+1].upper) {
		return nil
	}
	return unix.Fsetxattr(dir, d.src.XattrPrefix+"opaque", []byte("y"), 0)
}

func sameInode(a, b int) bool {
	x, errX := lstat(a, ".")
	y, errY := lstat(b, ".")
	return errX == nil && errY == nil && x.inode() == y.inode()
}

// writable changes a directory, and again with the right to do so if it has
// none: a rootless box can leave directories that their own owner may not
// write to, and moving a directory writes to it as well.
func writable(dir int, name string, do func() error) error {
	err := do()
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	if sub, err := lstat(dir, name); name != "" && err == nil && sub.isDir() {
		if err := unix.Fchmodat(dir, name, sub.perm()|0o700, 0); err != nil {
			return err
		}
	}
	var f file
	if err := unix.Fstat(dir, &f.Stat_t); err != nil {
		return err
	}
	if err := unix.Fchmod(dir, f.perm()|0o700); err != nil {
		return err
	}
	return errors.Join(do(), unix.Fchmod(dir, f.perm()))
}

func ignore(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}
