package race

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
)

// changedSince finds files below dir that changed at or after a moment, and
// directories that something was taken out of then, or put into, of the first
// so many that it comes to. cut says that it did not come to all of them. It
// looks only where who may: the names of other users' files are not for every
// owner of a race there.
func changedSince(dir string, who forkbox.Owner, since time.Time, most int, deadline time.Time) (paths []string, more, cut bool) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, false, false
	}
	defer root.Close()
	if !reachable(dir, who) {
		return nil, false, false
	}
	var top syscall.Stat_t
	if err := syscall.Stat(dir, &top); err != nil {
		return nil, false, false
	}
	seen := 0
	var dirs []string
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // not there any more
		}
		if seen++; seen > most || seen%64 == 0 && time.Now().After(deadline) || len(paths) > shownDrift {
			more = len(paths) > shownDrift
			cut = !more
			return fs.SkipAll
		}
		st, ok := status(d)
		if !ok {
			return nil
		}
		if d.IsDir() {
			if err := enter(name, st, uint64(top.Dev), who); err != nil {
				return err
			}
		}
		switch {
		case since.UnixNano() >= st.Ctim.Nano():
		case d.IsDir():
			dirs = append(dirs, filepath.Join(dir, name))
		default:
			paths = append(paths, filepath.Join(dir, name))
		}
		return nil
	})
	return append(paths, unexplained(dirs, paths)...), more, cut
}

// reachable says whether the owner may get to a directory at all.
func reachable(dir string, who forkbox.Owner) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	for real != "/" && who.UID != 0 {
		real = filepath.Dir(real)
		var st syscall.Stat_t
		if err := syscall.Stat(real, &st); err != nil || !may(&st, who, 0o1) {
			return false
		}
	}
	return true
}

func status(d fs.DirEntry) (*syscall.Stat_t, bool) {
	info, err := d.Info()
	if err != nil {
		return nil, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return st, ok
}

// enter says whether to look into a directory. What git writes there while a
// program looks at a work tree says nothing about the files, and other
// filesystems may be anything.
func enter(name string, st *syscall.Stat_t, dev uint64, who forkbox.Owner) error {
	base := filepath.Base(name)
	if uint64(st.Dev) != dev || base == ".git" || strings.HasPrefix(base, ".forkbox-") || !may(st, who, 0o5) {
		return fs.SkipDir
	}
	return nil
}

// may says whether the mode of a directory lets the owner list it (4) or get
// through it (1).
func may(st *syscall.Stat_t, who forkbox.Owner, what uint32) bool {
	mode := st.Mode
	switch {
	case who.UID == 0:
		return true
	case int(st.Uid) == who.UID:
		mode >>= 6
	case int(st.Gid) == who.GID || slices.Contains(who.Groups, int(st.Gid)):
		mode >>= 3
	}
	return mode&what == what
}

// unexplained are the directories that did not change because of what is named.
func unexplained(dirs, paths []string) []string {
	return slices.DeleteFunc(dirs, func(dir string) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return filepath.Dir(p) == dir })
	})
}
