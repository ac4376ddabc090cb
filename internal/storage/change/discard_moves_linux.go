package change

import (
	"context"
	"path"
	"slices"

	"github.com/forkbox/forkbox"
)

// move is a directory of the base that the box has elsewhere.
type move struct{ from, path string }

// plan finds out what goes, and refuses what cannot be done without harm to
// what stays. Nothing has been touched yet.
func (d *discarder) plan(ctx context.Context, changes []forkbox.Change) error {
	for _, c := range changes {
		if err := d.checkUpper(rawPath(c)); err != nil {
			return err
		}
		if p := rawPath(c); !staysDir(c) && !d.goes(p) {
			d.drops = append(d.drops, p)
		}
	}
	err := Read(ctx, d.src, func(c forkbox.Change, _ forkbox.Sides) error {
		if c.Kind == forkbox.Renamed {
			d.moved = append(d.moved, move{c.From, rawPath(c)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return d.check()
}

// checkUpper: a box may have layers of a filesystem and nothing of its own.
func (d *discarder) checkUpper(p string) error {
	if u, ok := d.upperOf(p); ok && u.Dir == "" {
		return forkbox.Errorf(forkbox.Internal, "", "the box has no upper directory for %s yet, to put %q back in", u.Mount, p)
	}
	return nil
}

// goes says whether a path is taken out, by itself or with what it lies in.
func (d *discarder) goes(p string) bool {
	i, found := slices.BinarySearchFunc(d.drops, p, forkbox.ComparePaths)
	return found || i > 0 && forkbox.Within(p, d.drops[i-1])
}

// check: a directory must not be at its old place again and stay at the new
// one, nor be at none of them.
func (d *discarder) check() error {
	for _, p := range d.drops {
		if err := d.checkShown(p, d.inBase(p)); err != nil {
			return err
		}
	}
	for _, m := range d.moved {
		if !d.goes(m.path) {
			continue
		}
		if err := d.checkShown(m.path, m.from); err != nil {
			return err
		}
		if err := d.checkPlace(m); err != nil {
			return err
		}
	}
	return nil
}

// checkShown refuses to show what the base has at shown, while the box has a
// directory out of it elsewhere.
func (d *discarder) checkShown(p, shown string) error {
	for _, m := range d.moved {
		if shown != "" && forkbox.Within(m.from, shown) && !d.goes(m.path) {
			return forkbox.Errorf(forkbox.Invalid, "", "%q cannot be put back alone: the box has moved %q to %q", p, m.from, m.path).
				Hint("discard that as well: %s", m.path)
		}
	}
	return nil
}

// checkPlace refuses to put a directory back where the box has something else
// now, or where there is nothing to put it into.
func (d *discarder) checkPlace(m move) error {
	at := d.inBox(m.from)
	if d.goes(at) {
		return nil
	}
	vacant, err := d.vacant(at, m.from)
	if err == nil && !vacant {
		return forkbox.Errorf(forkbox.Invalid, "", "%q cannot be put back alone: the box has something else at %q, where it was", m.path, at).
			Hint("discard that as well: %s", at)
	}
	return err
}

// vacant says whether the box has nothing at a path, and it is in the directory
// of the base that from lies in.
func (d *discarder) vacant(at, from string) (vacant bool, err error) {
	if u, ok := d.upperOf(at); ok && len(u.Layers) > 0 {
		err = d.withSites(d.ctx, u, at, func(t *terrain, name string) error {
			vacant, err = t.vacant(name, from)
			return err
		})
		return vacant, err
	}
	err = d.withPath(at, func(way []level, name string) (err error) {
		last := way[len(way)-1]
		vacant, err = d.isVacant(last.upper, name)
		vacant = vacant && path.Join(way[0].mount, last.origin) == path.Dir(from)
		return err
	})
	return vacant, err
}

// isVacant says whether the box has nothing at a name.
func (d *discarder) isVacant(dir int, name string) (bool, error) {
	up, err := lstat(dir, name)
	if isAbsent(err) || err == nil && up.isWhiteout() {
		return true, nil
	}
	_, marked := xattr(dir, name, d.src.XattrPrefix+"whiteout")
	return marked && up.isRegular() && up.Size == 0, err
}

// inBox is where a box has a path of the base, whether or not it is there: not
// at the same place when a directory that it lies in was moved.
func (d *discarder) inBox(p string) string {
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		for _, m := range d.moved {
			if m.from == dir {
				return m.path + p[len(dir):]
			}
		}
	}
	return p
}

// inBase is where the base has what shows at a path of the box when that is
// taken out. Nothing does, "", in a directory that the box made in the place
// of one that it moved away.
func (d *discarder) inBase(p string) string {
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		if m, ok := d.movedTo(dir); ok {
			return m.from + p[len(dir):]
		}
		if d.movedAway(dir) {
			return ""
		}
	}
	return p
}

func (d *discarder) movedTo(dir string) (move, bool) {
	i := slices.IndexFunc(d.moved, func(m move) bool { return m.path == dir })
	if i < 0 {
		return move{}, false
	}
	return d.moved[i], true
}

func (d *discarder) movedAway(dir string) bool {
	return slices.ContainsFunc(d.moved, func(m move) bool { return m.from == dir })
}
