package land

import (
	"path"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// weight is what lies below a directory: how much, and what.
type weight struct {
	bytes int64
	tally Tally
}

// weigh looks at all that is kept: how many bytes on disk that is, and what is
// in each directory among it.
func (w *witness) weigh() (total int64, err error) {
	w.weights = map[inPlace]Tally{}
	err = w.yard.eachOpen(func(p *place) error {
		n, err := w.weighPlace(p)
		total += n
		return err
	})
	return total, err
}

// inPlace names a slot.
type inPlace struct {
	place int
	slot  string
}

func (w *witness) weighPlace(p *place) (total int64, err error) {
	names, err := linux.List(p.fd)
	if err != nil {
		return 0, unreadable(err)
	}
	for _, name := range names {
		if !isSlot(name) {
			continue
		}
		var found weight
		isDir, err := found.add(p.fd, name, "")
		if err != nil {
			return 0, err
		}
		total += found.bytes
		if isDir {
			w.weights[inPlace{p.K, name}] = found.tally
		}
	}
	return total, nil
}

// add weighs a name of a directory with all that is below it. Its own rel is
// "" where it is the directory that counts: itself is not in the tally.
func (w *weight) add(dir int, name, rel string) (isDir bool, err error) {
	files.Glance()
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, unreadable(err)
	}
	w.bytes += st.Blocks * 512
	if rel != "" {
		w.tally.Add(rel, files.Describe(&st).Node())
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false, nil
	}
	fd, err := files.Open(dir, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return true, unreadable(files.Gone(err))
	}
	defer unix.Close(fd)
	return true, w.below(fd, rel)
}

// below weighs what an open directory has.
func (w *weight) below(fd int, rel string) error {
	names, err := linux.Names(fd)
	if err != nil {
		return unreadable(err)
	}
	for _, n := range names {
		if _, err := w.add(fd, n, path.Join(rel, n)); err != nil {
			return err
		}
	}
	return nil
}

// tallyAt looks at all that is below a directory of the tree, with the rights
// of the process: what the owner may not read, a review may have read.
func (w *witness) tallyAt(t *files.Tree, p, rel string) (tally Tally, err error) {
	dir, name, err := t.Parent(p)
	if err != nil {
		return tally, err
	}
	w.who.Beside(func() {
		var found weight
		_, err = found.add(dir, name, rel)
		tally = found.tally
	})
	return tally, err
}
