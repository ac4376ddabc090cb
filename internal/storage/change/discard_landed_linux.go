package change

import (
	"context"
	"iter"
	"path"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// KeepLanded is for what the box landed and shows as the base has it, since
// changes were discarded: there the box gets a copy of its own, as it had before
// it changed it again. Otherwise the box would lose its work when that landing
// is undone.
//
// landed are paths of the base with what the box landed there; a zero identity
// is for nothing, where the box deleted something or moved it away. Where the
// base has something else by now, nothing is done. own is what the box has there
// then, by path of the base. The box must not run.
func KeepLanded(ctx context.Context, src Source, changes []forkbox.Change, landed iter.Seq2[string, forkbox.Identity], bin string) (own map[string]forkbox.Identity, err error) {
	const op = "keep what landed"
	fd, err := unix.Open(bin, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Internal, op, "open %s: %w", bin, err)
	}
	defer unix.Close(fd)
	d := &discarder{ctx: ctx, src: src, bin: fd}
	if err := d.plan(ctx, nil); err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	discarded := map[string]bool{}
	for _, c := range changes {
		discarded[rawPath(c)] = !staysDir(c)
		if c.Kind == forkbox.Renamed {
			discarded[d.inBox(c.From)] = true
		}
	}
	own = map[string]forkbox.Identity{}
	for p, id := range landed {
		at := d.inBox(p)
		if !isWithin(at, discarded) {
			continue
		}
		if err := d.keep(at, id, func(now forkbox.Identity) { own[p] = now }); err != nil {
			return own, forkbox.Errorf(forkbox.Internal, op, "%q: %w", at, err)
		}
	}
	return own, nil
}

// isWithin says whether a path is one of some, or lies in one.
func isWithin(p string, some map[string]bool) bool {
	for ; p != "/"; p = path.Dir(p) {
		if some[p] {
			return true
		}
	}
	return some["/"]
}

// keep gives the box what it landed at a path.
func (d *discarder) keep(at string, id forkbox.Identity, tell func(forkbox.Identity)) error {
	u, ok := d.upperOf(at)
	if !ok || u.Dir == "" {
		return nil
	}
	return d.withWay(d.ctx, u, at, (*terrain).enterBase, func(t *terrain, name string) error {
		in := t.last()
		if in.base == none || t.d.isHidden(t.inBase(originOf(in.origin, name))) {
			return nil
		}
		base, err := lstatIn(in.base, name)
		if err != nil && !isAbsent(err) {
			return err
		}
		_, over, err := lookIn(in.parts, name)
		switch {
		case err != nil:
			return err
		case over.Mode != 0:
			if same := over.Size == base.Size && over.Mtim == base.Mtim && !base.isDir(); same && isLanded(base, id) {
				tell(over.identity()) // put over a layer that has another one
			}
			return nil
		case id == forkbox.Identity{} && base.Mode == 0:
			if in.opaque {
				return nil // nothing of the base shows here, and a mark would: the kernel hides marks only where it merges
			}
			return t.put(name, t.delete)
		case base.isDir() && id.Ino != 0:
			if ok, err := t.enterBase(name); err != nil || !ok {
				return err
			}
			return t.settle()
		case !isLanded(base, id):
			return nil // reality has gone on
		}
		err = t.put(name, func(into int, as string) error { return t.copyFile(in.base, name, base, into, as) })
		if err != nil {
			return err
		}
		now, err := lstat(in.upper, name)
		tell(now.identity())
		return err
	})
}

func isLanded(base file, id forkbox.Identity) bool {
	return base.Mode != 0 && base.Ino == id.Ino && base.Ctim.Nano() == id.Ctime
}

// enterBase is enter, also for a directory that only the base has.
func (t *terrain) enterBase(name string) (ok bool, err error) {
	in := t.last()
	if ok, err := t.enter(name); ok || err != nil {
		return ok, err
	}
	_, over, err := lookIn(in.parts, name)
	if err != nil || over.Mode != 0 || in.opaque || in.base == none {
		return false, err // the box has deleted it, or has something else there
	}
	next := &site{shown: shown{origin: originOf(in.origin, name)}, upper: none, base: none, name: name}
	next.hidden = in.hidden || t.d.isHidden(t.inBase(next.origin))
	if f, err := lstatIn(in.base, name); err != nil || !f.isDir() || next.hidden {
		return false, nil
	}
	if next.base, err = openPath(in.base, name); err != nil {
		return false, err
	}
	t.way = append(t.way, next)
	return true, nil
}

// put makes something in the box's own directory.
func (t *terrain) put(name string, make func(into int, as string) error) error {
	if err := t.settle(); err != nil {
		return err
	}
	return t.d.staged(func(as string) error { return make(t.d.bin, as) }, t.last().upper, name)
}
