package change

import (
	"context"
	"errors"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

type flattener struct {
	ctx    context.Context
	f      Flattening
	stack  *stack
	base   int // none where it is not used
	copier *copier
	hidden map[string]bool
}

// melt is a directory that is being made of several.
type melt struct {
	shown
	base int    // what shows of the base and is to be written out; none if nothing is
	into int    // the new directory
	path string // of it, from the root of the filesystem

	closed bool // nothing of the base will show in it
	full   bool // because it is written out
	holes  bool // it has whiteouts
	marked bool // and an attribute marks them
	depth  int
}

func flatten(ctx context.Context, f Flattening) error {
	if len(f.Layers) == 0 {
		return forkbox.Errorf(forkbox.Invalid, "", "there are none")
	}
	into, err := openEmpty(f.Into)
	if err != nil {
		return err
	}
	defer unix.Close(into)
	s, err := openStack(f.Layers, f.XattrPrefix)
	if err != nil {
		return err
	}
	defer s.close()
	fl := &flattener{ctx: ctx, f: f, stack: s, base: none, hidden: map[string]bool{}}
	for _, h := range f.Hidden {
		fl.hidden[strings.Trim(path.Clean(h), "/")] = true
	}
	fl.copier = &copier{ctx: ctx, prefix: f.XattrPrefix, root: into, notes: !f.Copy && !f.Expand}
	if f.Expand {
		if fl.base, err = unix.Open(f.Base, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return forkbox.Errorf(forkbox.Internal, "", "open the base %s: %w", f.Base, err)
		}
		defer unix.Close(fl.base)
	}
	m := &melt{shown: shown{parts: s.tops}, base: none, into: into}
	if err := fl.fill(m); err != nil {
		return err
	}
	return fl.finish(m, s.tops[0].dir)
}

// openEmpty: something in there already would become part of the layer.
func openEmpty(dir string) (int, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return none, forkbox.Errorf(forkbox.Internal, "", "open %s: %w", dir, err)
	}
	names, err := linux.Names(fd)
	if err == nil && len(names) > 0 {
		err = forkbox.Errorf(forkbox.Invalid, "", "%s is not empty", dir)
	}
	if err != nil {
		unix.Close(fd)
		return none, err
	}
	return fd, nil
}

// fill makes all that is in a directory.
func (fl *flattener) fill(m *melt) error {
	if m.depth > maxDepth || m.depth*len(m.parts) > maxParts {
		return forkbox.Errorf(forkbox.Unsupported, "", "directories are nested too deep in %.80q…", m.path)
	}
	r, err := fl.names(m)
	if err != nil {
		return named(m.path, err)
	}
	for i, name := range r.names {
		if err := fl.ctx.Err(); err != nil {
			return err
		}
		if err := fl.one(m, r.top(i, m.parts), r.ownersOf(i), name); err != nil {
			return named(join(m.path, name), err)
		}
	}
	return nil
}

func (fl *flattener) names(m *melt) (roster, error) {
	r, err := roll(m.parts)
	if err != nil || m.base == none {
		return r, err
	}
	dir, err := openDir(m.base, ".", 0)
	if err != nil {
		return r, err
	}
	defer unix.Close(dir)
	below, err := linux.Names(dir)
	return r.with(below, len(m.parts)), err
}

// located is an error that says which file it is about.
type located struct {
	path string
	err  error
}

func (l *located) Error() string { return strconv.Quote(l.path) + ": " + l.err.Error() }
func (l *located) Unwrap() error { return l.err }

// named says which file an error is about, unless it says so already.
func named(path string, err error) error {
	var l *located
	var known *forkbox.Error
	if errors.As(err, &l) || errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &located{path, err}
}

func (fl *flattener) one(m *melt, top part, owners []int, name string) error {
	up, err := lstatIn(top.dir, name)
	switch {
	case isAbsent(err) && m.base != none:
		return fl.fromBase(m, name)
	case err != nil:
		return err
	case up.isWhiteout(), top.marked && isMarked(top.dir, name, up, fl.f.XattrPrefix):
		return fl.whiteout(m, name)
	case up.isDir():
		return fl.dir(m, owners, name)
	}
	return fl.leaf(m, top.dir, name, up)
}

// isMarked says whether an attribute makes a file a whiteout.
func isMarked(dir int, name string, f file, prefix string) bool {
	return f.isRegular() && f.Size == 0 && isMarkedWhiteout(dir, name, prefix)
}

// whiteout keeps a deletion where it hides something: whether the base has
// something there is not known, and may change.
func (fl *flattener) whiteout(m *melt, name string) error {
	if m.closed {
		return nil
	}
	m.holes = true
	err := unix.Mknodat(m.into, name, unix.S_IFCHR, 0)
	if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	m.marked = true
	fd, err := create(m.into, name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fsetxattr(fd, fl.f.XattrPrefix+"whiteout", []byte("y"), 0)
}

func (fl *flattener) leaf(m *melt, dir int, name string, f file) error {
	if _, ok := xattr(dir, name, fl.f.XattrPrefix+"metacopy"); ok {
		return forkbox.Errorf(forkbox.Unsupported, "", "%q has its content elsewhere (metacopy)", join(m.path, name))
	}
	if !fl.f.Copy {
		err := unix.Linkat(dir, name, m.into, name, 0)
		if !errors.Is(err, unix.EMLINK) && !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EPERM) {
			return err
		}
	}
	return fl.copier.copy(dir, name, f, m.into, join(m.path, name))
}
