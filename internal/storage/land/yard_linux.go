package land

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// yard is the staging directories of a landing: it makes them beside what they
// are for, finds them again, stows what is kept, and takes them down.
type yard struct {
	who       *files.Actor
	tree      *files.Tree
	own       string   // path of the landing's own directory
	store     *os.File // that, open
	name      string   // of every staging directory
	remounted bool
	places    []*place
	noted     *journal // the places, as they are made
}

// create makes an empty journal of places.
func (y *yard) create(dir *os.File) (err error) {
	y.store = dir
	y.noted, err = newJournal(dir, placesFile)
	return err
}

// read opens the journal of the places, and takes each one's last line: the
// later ones know more.
func (y *yard) read(dir *os.File) (err error) {
	y.store = dir
	if y.noted, err = openJournal(dir, placesFile); err != nil {
		return err
	}
	return y.readPlaces()
}

func (y *yard) readPlaces() error {
	l := y.noted.forward(0, y.noted.size)
	for {
		p := &place{fd: -1}
		err := nextLine(l, p)
		if err == io.EOF {
			return nil
		}
		if err != nil || p.K > len(y.places) || p.K < 0 {
			return damaged(y.own, err)
		}
		p.In = files.Unpack(p.In)
		if p.K == len(y.places) {
			y.places = append(y.places, p)
		}
		y.places[p.K] = p
	}
}

// lieIn has the yard be that of a landing of which only a staging directory is
// left, which serves as the landing's own.
func (y *yard) lieIn(dir string) { y.name = path.Base(dir) }

// dir is the landing's own directory.
func (y *yard) dir() int { return int(y.store.Fd()) }

// path of a staging directory in the tree.
func (y *yard) path(p *place) string { return join(p.In, y.name) }

// has says whether a record's staging directory is one of these.
func (y *yard) has(r *record) bool { return r.Place >= 0 && r.Place < len(y.places) }

// of is the staging directory of a record.
func (y *yard) of(r *record) *place { return y.places[r.Place] }

// lacks says whether the staging directory of a record is gone.
func (y *yard) lacks(r *record) bool { return y.of(r).fd < 0 }

// slot opens the directory that something is staged in, and tells its name there.
func (y *yard) slot(s spot) (int, string, error) { return y.places[s.place].slot(s.slot) }

// eachOpen visits the staging directories that are there.
func (y *yard) eachOpen(visit func(*place) error) error {
	for _, p := range y.places {
		if p.fd < 0 {
			continue
		}
		if err := visit(p); err != nil {
			return err
		}
	}
	return nil
}

// forgetSlots: a directory moved, and a slot may be another one now.
func (y *yard) forgetSlots() {
	for _, p := range y.places {
		p.tree.Forget()
	}
}

// sync makes the filesystems of the staging directories durable, and adds them
// to those that are.
func (y *yard) sync(synced map[uint64]bool) error {
	return y.eachOpen(func(p *place) error {
		if synced[p.mount.dev] {
			return nil
		}
		synced[p.mount.dev] = true
		if err := files.SyncFilesystem(p.fd); err != nil {
			return forkbox.Errorf(forkbox.Internal, opLand, "make %q durable: %w", p.In, err)
		}
		return nil
	})
}

// placeFor finds the staging directory for a path, or makes one: as high up as
// the caller may, so that a landing has few of them.
func (y *yard) placeFor(at string) (*place, error) {
	dir := path.Dir(at)
	fd, err := y.tree.Dir(dir)
	if err != nil {
		return nil, failed(opLand, dir, err)
	}
	m, err := mountOf(fd)
	if err != nil {
		return nil, failed(opLand, dir, err)
	}
	for _, p := range y.places {
		if p.fd >= 0 && p.mount == m && forkbox.Within(dir, p.In) {
			return p, nil
		}
	}
	for _, in := range ancestors(dir) {
		p, err := y.tryPlace(in, m)
		if p != nil || err != nil {
			return p, err
		}
	}
	return nil, forkbox.Errorf(forkbox.Denied, opLand, "neither %q nor a directory above it may be written to", dir).
		About(at, "you may not write to its directory").
		Hint("leave it out by naming what is to land: forkbox apply BOX PATH…").
		Hint("or have it applied by somebody who may write there")
}

// ancestors lists the directories from the root down to dir.
func ancestors(dir string) []string {
	if dir == "/" {
		return []string{"/"}
	}
	return append(ancestors(path.Dir(dir)), dir)
}

// tryPlace makes a staging directory in a directory of the tree; nil says
// that it has to be made further down.
func (y *yard) tryPlace(in string, want mount) (*place, error) {
	fd, err := y.tree.Dir(in)
	if err != nil {
		return nil, failed(opLand, in, err)
	}
	m, err := mountOf(fd)
	if err != nil || m != want || unix.Faccessat(fd, ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS) != nil {
		return nil, err
	}
	p := &place{K: len(y.places), In: in, Overlay: onOverlay(fd), mount: m, fd: -1}
	y.places = append(y.places, p)
	// The journal knows of it first: whatever happens, it is found again.
	if err := y.notePlace(p); err != nil {
		return nil, err
	}
	err = files.Mkdir(fd, y.name)
	p.failed = err != nil
	switch {
	case refused(err):
		return nil, nil
	case err != nil:
		return nil, failed(opLand, join(in, y.name), err)
	}
	return p, y.furnish(p, fd)
}

func (y *yard) notePlace(p *place) error {
	note := *p
	note.In = files.Pack(note.In)
	if err := y.noted.add(&note); err != nil {
		return err
	}
	return wrap(opLand, y.noted.sync())
}

// furnish prepares a staging directory that was just made. Until its inode is
// in the journal it stays empty: a recovery removes only what is surely ours.
func (y *yard) furnish(p *place, parent int) error {
	if err := p.open(parent, y.name); err != nil {
		return failed(opLand, y.path(p), err)
	}
	o, err := files.Fstat(p.fd)
	if err != nil {
		return failed(opLand, y.path(p), err)
	}
	p.Ino = o.Ino
	if err := y.notePlace(p); err != nil {
		return err
	}
	if err := p.plain(); err != nil {
		return failed(opLand, y.path(p), err)
	}
	// Out of `git status` and `git add`.
	if err := p.write(ignoreFile, "*\n"); err != nil {
		return failed(opLand, y.path(p), err)
	}
	return failed(opLand, y.path(p), y.introduce(p))
}

// introduce writes down what a staging directory is.
func (y *yard) introduce(p *place) error {
	text, err := json.Marshal(about{Landing: files.Pack(y.own), Began: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	return p.write(aboutFile, string(text)+"\n")
}

// openPlaces opens the staging directories that are there, in the tree or
// in the landing's own directory.
func (y *yard) openPlaces() error {
	for _, p := range y.places {
		p.close()
		if p.Ino == 0 {
			continue
		}
		if err := y.openPlace(p); err != nil {
			return err
		}
	}
	return nil
}

func (y *yard) openPlace(p *place) error {
	err := p.open(y.dir(), p.stowName())
	p.stowed = err == nil
	if errors.Is(err, unix.ENOENT) {
		err = y.who.Do(func() error {
			fd, err := y.tree.Dir(p.In)
			if err != nil {
				return err
			}
			return p.open(fd, y.name)
		})
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil // it was never durable, or was removed
	}
	if err != nil {
		return failed(opRead, y.path(p), err)
	}
	return y.check(p)
}

// check closes a directory that has the name of a staging directory and is
// not the one that was made. Where numbers cannot tell, it is asked what it says
// of itself.
func (y *yard) check(p *place) error {
	o, err := files.Fstat(p.fd)
	if err == nil && o.Ino == p.Ino {
		return nil
	}
	if a, failed := readAbout(p.fd); err == nil && y.remounted && p.Overlay && failed == nil && a.Landing == y.own {
		p.Ino = o.Ino
		return nil
	}
	p.close()
	return err
}

// reopen: a descriptor remembers the mount that it was opened through, and
// renames lead only within one.
func (y *yard) reopen(p *place) error {
	p.close()
	return y.openPlace(p)
}

// share has every staging directory know the whole journal. On the
// journal's own filesystem that is another name for it and costs nothing.
func (y *yard) share(plan *plan) error {
	for _, p := range y.places {
		if p.fd < 0 {
			continue
		}
		for i, j := range []*journal{y.noted, plan.parts, plan.records} {
			if err := y.shareIn(p, journalFiles[i], j); err != nil {
				return failed(opLand, join(y.path(p), journalFiles[i]), err)
			}
		}
	}
	return nil
}

func (y *yard) shareIn(p *place, name string, j *journal) error {
	if err := j.flush(); err != nil {
		return err
	}
	err := files.Linkat(y.dir(), name, p.fd, name)
	for _, e := range []error{unix.EXDEV, unix.EPERM, unix.EACCES, unix.EMLINK, unix.EOPNOTSUPP} {
		if errors.Is(err, e) {
			return y.who.Do(func() error { return j.copyTo(p.fd, name) })
		}
	}
	return err
}

// stow moves the staging directories into the landing's own directory, out of
// the user's sight. One on another filesystem stays where it is.
func (y *yard) stow() error {
	for _, p := range y.places {
		if p.fd < 0 || p.stowed {
			continue
		}
		parent, err := y.freshDir(p.In)
		if err != nil {
			continue // its directory went away; so did it
		}
		err = y.stowPlace(p, parent)
		unix.Close(parent)
		if err != nil && !errors.Is(err, unix.EXDEV) && !refused(err) {
			return wrap(opLand, err)
		}
	}
	return nil
}

// stowPlace renames with the rights of the process, in a directory where the
// owner can rename too: what came must be what was meant.
func (y *yard) stowPlace(p *place, parent int) error {
	store, name := y.dir(), p.stowName()
	if err := files.Rename(parent, y.name, store, name, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	now, err := files.Lstat(store, name)
	p.stowed = err == nil && now != nil && now.Ino == p.inode()
	if !p.stowed {
		return besides(err, files.Rename(store, name, parent, y.name, unix.RENAME_NOREPLACE))
	}
	return nil
}

// bring moves them back beside their targets: an undo is done with the rights
// of the owner, who cannot reach the store.
func (y *yard) bring() error {
	for _, p := range y.places {
		if !p.stowed {
			continue
		}
		parent, err := y.freshDir(p.In)
		if err != nil {
			return failed(opUndo, p.In, err)
		}
		err = files.Rename(y.dir(), p.stowName(), parent, y.name, unix.RENAME_NOREPLACE)
		unix.Close(parent)
		if err != nil {
			return failed(opUndo, y.path(p), err)
		}
		p.stowed = false
		if err := y.reopen(p); err != nil {
			return err
		}
	}
	return nil
}

// clearOld removes the staging directories with the old objects in them. The
// owner does that as far as he may; only what others have in a directory of
// his is left for the process to remove.
func (y *yard) clearOld() error {
	err := y.who.Do(y.clearPlaces)
	if refused(err) {
		err = y.clearPlaces()
	}
	return err
}

// clearPlaces removes the staging directories with everything in them.
func (y *yard) clearPlaces() error {
	for _, p := range y.places {
		if err := y.clearPlace(p); err != nil {
			return forkbox.Errorf(forkbox.Internal, opLand, "remove %q: %w", y.path(p), err)
		}
	}
	return nil
}

func (y *yard) clearPlace(p *place) error {
	if p.failed || p.fd < 0 && p.Ino != 0 {
		return nil // what has its name, if anything, is not ours
	}
	if p.stowed {
		return files.RemoveAll(y.dir(), p.stowName())
	}
	parent, err := y.freshDir(p.In)
	if err != nil {
		return files.Gone(err)
	}
	defer unix.Close(parent)
	if p.fd < 0 {
		// Made, perhaps, but nothing was ever put in it.
		err := files.Unlink(parent, y.name, unix.AT_REMOVEDIR)
		if err == unix.ENOTEMPTY || err == unix.EEXIST {
			return nil // not ours
		}
		return files.Gone(err)
	}
	return y.clearMade(p, parent)
}

// clearMade empties the directory that is open, and not the one that has its
// name by now.
func (y *yard) clearMade(p *place, parent int) error {
	if err := files.RemoveIn(p.fd); err != nil {
		return err
	}
	if now, err := files.Lstat(parent, y.name); err != nil || now == nil || now.Ino != p.inode() {
		return err
	}
	if err := files.Gone(files.Unlink(parent, y.name, unix.AT_REMOVEDIR)); err != nil {
		return err
	}
	return files.SyncFilesystem(p.fd) // before the journal forgets it
}

// freshDir opens a directory of the tree with the rights of the calling thread.
func (y *yard) freshDir(p string) (int, error) {
	t := files.Tree{Root: y.tree.Root}
	defer t.Forget()
	fd, err := t.Dir(p)
	if err != nil {
		return -1, err
	}
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
}

func (y *yard) close() {
	for _, p := range y.places {
		p.close()
	}
	y.noted.close()
}
