package change

import (
	"context"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// A box with layers cannot be put back by taking something out of its upper
// directory alone: the layers would show, and they are never written to. So
// what the base has is put over them. See [discarder.restore].

// site is one directory of a box with layers, on the way to a path.
type site struct {
	shown
	upper  int    // the box's own directory here; none if it has not written here
	base   int    // what the base has here, to be put back; none if nothing
	name   string // in the site above
	hidden bool   // the box was not shown the base
}

// lower is the site without what the box itself wrote.
func (s *site) lower() []part {
	if len(s.parts) > 0 && s.parts[0].layer == 0 {
		return s.parts[1:]
	}
	return s.parts
}

// shows is the directory that the site looks like.
func (s *site) shows() int {
	if len(s.parts) == 0 {
		return s.base
	}
	return s.parts[0].dir
}

// terrain is the filesystem of a box with layers.
type terrain struct {
	d     *discarder
	ctx   context.Context
	of    Upper
	stack *stack
	base  int
	way   []*site // from the root on
}

// withSites opens the directories that lead to a path, and calls do unless the
// box has no such directories.
func (d *discarder) withSites(ctx context.Context, u Upper, at string, do func(t *terrain, name string) error) error {
	return d.withWay(ctx, u, at, (*terrain).enter, do)
}

// withWay is withSites with another way to go on into a directory.
func (d *discarder) withWay(ctx context.Context, u Upper, at string, enter func(*terrain, string) (bool, error), do func(t *terrain, name string) error) error {
	s, err := openStack(u.dirs(), d.src.XattrPrefix)
	if err != nil {
		return err
	}
	defer s.close()
	t := &terrain{d: d, ctx: ctx, of: u, stack: s}
	if t.base, err = unix.Open(filepath.Join(d.src.Base, u.Mount), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		t.base = none
	}
	defer func() { closeDir(t.base) }()
	t.way = []*site{{shown: shown{parts: s.tops}, upper: s.tops[0].dir, base: t.base, hidden: d.isHidden(u.Mount)}}
	defer t.leave()
	rel := strings.Trim(strings.TrimPrefix(at, u.Mount), "/")
	if rel == "" {
		return do(t, ".")
	}
	names := strings.Split(rel, "/")
	for _, name := range names[:len(names)-1] {
		if ok, err := enter(t, name); err != nil || !ok {
			return err
		}
	}
	return do(t, names[len(names)-1])
}

func (t *terrain) leave() {
	for _, s := range t.way[1:] {
		closeParts(s.parts)
		if s.upper != none && (len(s.parts) == 0 || s.parts[0].dir != s.upper) {
			unix.Close(s.upper) // made since
		}
		closeDir(s.base)
	}
}

func (t *terrain) last() *site { return t.way[len(t.way)-1] }

// enter goes on into a directory. ok is false when the box has none there.
func (t *terrain) enter(name string) (ok bool, err error) {
	in := t.last()
	tr, err := t.stack.find(in.parts, nil, name)
	if err != nil || len(tr.parts) == 0 {
		return false, err
	}
	next := &site{shown: shown{parts: tr.parts, origin: originOf(in.origin, name)}, upper: none, base: none, name: name}
	if tr.parts[0].layer == 0 {
		next.upper = tr.parts[0].dir
	}
	from, shows := tr.origin(in.origin, in.opaque)
	if next.opaque = !shows; shows {
		next.origin = from
	}
	next.hidden = in.hidden || t.d.isHidden(t.inBase(next.origin))
	next.base = t.open(in, next, name)
	t.way = append(t.way, next)
	return true, nil
}

// open opens what the base has at a site: nothing, in a directory that the box
// made in the place of one that it moved away.
func (t *terrain) open(in, next *site, name string) int {
	dir, rel := in.base, name
	switch {
	case next.hidden:
		return none
	case !next.opaque:
		dir, rel = t.base, next.origin
	case t.d.movedAway(t.inBase(next.origin)):
		return none
	}
	fd, err := openPath(dir, rel)
	if err != nil {
		return none
	}
	return fd
}

// inBase is the path in the machine of a path in the base.
func (t *terrain) inBase(origin string) string { return path.Join(t.of.Mount, origin) }

// isHidden says whether the box was not shown what the base has at a path.
func (d *discarder) isHidden(p string) bool {
	for _, h := range d.src.Hidden {
		if forkbox.Within(p, path.Clean(h)) {
			return true
		}
	}
	return false
}

// vacant says whether the box has nothing at a name, in the directory of the
// base that from lies in.
func (t *terrain) vacant(name, from string) (bool, error) {
	in := t.last()
	if t.inBase(in.origin) != path.Dir(from) {
		return false, nil
	}
	found, f, err := lookIn(in.parts, name)
	if err != nil || f.Mode == 0 {
		return err == nil, err
	}
	return t.isWhiteout(found, name, f), nil
}

func (t *terrain) isWhiteout(p part, name string, f file) bool {
	return f.isWhiteout() || p.marked && isMarked(p.dir, name, f, t.d.src.XattrPrefix)
}

// lookIn finds the topmost part that has a name. The file is zero if none has.
func lookIn(parts []part, name string) (part, file, error) {
	for _, p := range parts {
		f, err := lstat(p.dir, name)
		if err == nil || !isAbsent(err) {
			return p, f, err
		}
	}
	return part{dir: none}, file{}, nil
}

// settle makes the box's own directories on the way, as overlayfs does when it
// copies up: they look like what shows there now.
func (t *terrain) settle() error {
	for i, s := range t.way {
		if s.upper != none {
			continue
		}
		like, err := lstat(s.shows(), ".")
		if err != nil {
			return err
		}
		err = t.d.staged(func(name string) error {
			fd, err := makeDir(t.d.bin, name)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return t.copier().attributes(s.shows(), ".", like, fd, ".")
		}, t.way[i-1].upper, s.name)
		if err != nil {
			return err
		}
		if s.upper, err = openDir(t.way[i-1].upper, s.name, beneath); err != nil {
			return err
		}
	}
	return nil
}

func (t *terrain) copier() *copier {
	return &copier{ctx: t.ctx, prefix: t.d.src.XattrPrefix, root: t.d.bin, ignoreOwner: t.d.src.IgnoreOwner}
}
