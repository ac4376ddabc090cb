package ancestor

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/git"
)

// What a look keeps of a workspace at most. What is beyond is unknown, until
// the box is looked at and the file pinned.
const (
	maxKept      = 4096     // files that git does not have
	maxKeptBytes = 64 << 20 // of these
	maxWalked    = 50000    // files and directories looked at, beside what git tracks
)

// sight is what one look saw of a workspace. It tells more than one fence: each
// thing comes with the time since when it is as it is.
type sight struct {
	root  string
	index *git.Index // nil where there is none
	// ownIndex says that it lies in the workspace, in a directory that was not
	// moved there after the earliest fence.
	ownIndex bool
	doubt    []string // tracked, and not known to be as in the index
	proven   []late   // tracked and as in the index, since a fence that is of interest
	loose    []file   // not known from git
	folders  []folder
	walked   int
	seen     []bool // of index.Entries
}

// late is a path that became what it is not long ago.
type late struct {
	path  string
	since int64
}

// file is one whose content has to be kept, if it is to be known.
type file struct {
	path string // relative, as all are
	stamp
	mode  fs.FileMode
	since int64 // its inode's time, or when a directory that it lies in was moved
	last  bool  // the others first
}

// stamp is what changes whenever a file does.
type stamp struct {
	forkbox.Identity
	mtime int64
}

// watcher walks over a workspace.
type watcher struct {
	*sight
	ctx     context.Context
	fence   int64 // the earliest of interest
	dev     uint64
	ignored func(path string, dir bool) bool
	hidden  func(path string) bool
}

// look sees what is there. The caller sees to whose rights that is done with.
func (w *watcher) look() error {
	info, err := os.Lstat(w.root)
	if err != nil || !info.IsDir() {
		return err
	}
	top, ok := stampOf(info)
	if !ok {
		return nil // nothing is certain here
	}
	w.dev = top.Dev
	if index, err := git.ReadIndex(w.root); err == nil {
		w.index, w.seen = index, make([]bool, len(index.Entries))
		at, ok := w.spotOf(".git")
		info, err := os.Lstat(filepath.Join(w.root, ".git"))
		w.ownIndex = ok && err == nil && info.IsDir() && at.since < w.fence
	}
	at := spot{since: movedAt(w.root), changed: top.mtime}
	w.addFolder(".", info.Mode(), top, at)
	w.directory("", at)
	w.addUnvisited()
	slices.Sort(w.doubt)
	return w.ctx.Err()
}

// spot is what is known of a directory.
type spot struct {
	since   int64 // it, and each that it lies in, is certainly where it is since then
	changed int64 // when something was last put into it, or taken from it
}

// directory looks at all that is in one, in the order of names, which is the
// one that ignore files are read in.
func (w *watcher) directory(dir string, at spot) {
	if w.ctx.Err() != nil {
		return
	}
	for _, e := range w.list(filepath.Join(w.root, dir)) {
		path := filepath.Join(dir, e.Name())
		tracked := w.find(path)
		if tracked < 0 {
			if w.walked++; w.walked > maxWalked {
				continue
			}
		}
		switch {
		case e.Name() == ".git", strings.HasPrefix(e.Name(), ".forkbox-"), w.hidden(filepath.Join(w.root, path)):
		case e.IsDir():
			w.enter(path, e, at)
		case e.Type().IsRegular():
			w.regular(path, e, at.since, tracked)
		}
	}
}

// list is what is in a directory, sorted. It is not read further than a look
// goes: it is not known how much there is.
func (w *watcher) list(dir string) []fs.DirEntry {
	f, err := os.Open(dir)
	if err != nil {
		return nil // not the owner's to read, or gone meanwhile
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxWalked + len(w.seen))
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}

func (w *watcher) enter(path string, e fs.DirEntry, in spot) {
	info, err := e.Info()
	if err != nil || !info.IsDir() || w.ignored(filepath.Join(w.root, path), true) {
		return
	}
	if s, ok := stampOf(info); ok && s.Dev == w.dev {
		at := in.below(s)
		w.addFolder(path, info.Mode(), s, at)
		w.directory(path, at)
	}
}

func (w *watcher) addFolder(path string, mode fs.FileMode, s stamp, at spot) {
	if len(w.folders) < maxFolders {
		w.folders = append(w.folders, folder{path, mode, s.Ino, max(settled(s.Ctime), at.since), at.since})
	}
}

// below is a directory in another. To put one where it is sets its inode's
// time, and the time of what it lies in: it was there before the earlier of
// the two.
func (in spot) below(dir stamp) spot {
	return spot{since: max(in.since, min(settled(dir.Ctime), settled(in.changed))), changed: dir.mtime}
}

// spotOf is a directory and all that it lies in, down from the workspace.
func (w *watcher) spotOf(dir string) (at spot, ok bool) {
	info, err := os.Lstat(filepath.Join(w.root, dir))
	if err != nil {
		return at, false
	}
	s, ok := stampOf(info)
	if dir == "." || !ok {
		return spot{movedAt(w.root), s.mtime}, ok
	}
	in, ok := w.spotOf(filepath.Dir(dir))
	return in.below(s), ok
}

// movedAt is when the workspace, or what it lies in, was put where it is, as far
// as that can be told: what is beside it may change all the time. A move sets
// the inode's time only, and what is done in a directory sets both.
func movedAt(dir string) (moved int64) {
	for ; ; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil {
			if s, ok := stampOf(info); ok && s.Ctime != s.mtime {
				moved = max(moved, s.Ctime)
			}
		}
		if dir == filepath.Dir(dir) {
			return moved
		}
	}
}

// find is the place of a path in the index, -1 if it has none.
func (w *watcher) find(path string) int {
	if w.index == nil {
		return -1
	}
	i, found := slices.BinarySearchFunc(w.index.Entries, path, func(e git.IndexEntry, p string) int { return strings.Compare(e.Path, p) })
	if !found {
		return -1
	}
	return i
}

func (w *watcher) regular(path string, e fs.DirEntry, there int64, tracked int) {
	info, err := e.Info()
	if err != nil {
		return
	}
	s, ok := stampOf(info)
	if !ok || !info.Mode().IsRegular() || s.Dev != w.dev {
		return
	}
	f := file{path: path, stamp: s, mode: info.Mode(), since: max(settled(s.Ctime), there)}
	if tracked >= 0 {
		w.addTracked(f, tracked)
		return
	}
	f.last = outOfTheWay(path) || w.index != nil && w.ignored(filepath.Join(w.root, path), false)
	w.add(f)
}

// settled is a time of an inode as [git.Settled] takes it.
func settled(at int64) int64 {
	if at%int64(time.Second) == 0 {
		return at + int64(2*time.Second)
	}
	return at
}

func (w *watcher) addTracked(f file, at int) {
	w.seen[at] = true
	e := w.index.Entries[at]
	if !w.index.Proves(e, f.mode, f.Identity, f.mtime) {
		w.doubt = append(w.doubt, f.path)
		w.add(f)
	} else if f.since >= w.fence {
		w.proven = append(w.proven, late{f.path, f.since})
	}
}

func (w *watcher) add(f file) {
	if f.Size <= maxCopy && f.mode&(fs.ModeSetuid|fs.ModeSetgid) == 0 && !confidential(filepath.Base(f.path)) {
		w.loose = append(w.loose, f)
	}
}

// addUnvisited is for what is tracked and was not come across: because it lies in
// an ignored directory, or is gone.
func (w *watcher) addUnvisited() {
	last, at, found := "", spot{}, false
	for i, seen := range w.seen {
		if seen {
			continue
		}
		e := w.index.Entries[i]
		if i%1024 == 0 && w.ctx.Err() != nil {
			return
		}
		path := filepath.Join(w.root, e.Path)
		info, err := os.Lstat(path)
		if dir := filepath.Dir(e.Path); err == nil && dir != last {
			last = dir
			at, found = w.spotOf(dir)
		}
		if err == nil && found {
			w.regular(e.Path, fs.FileInfoToDirEntry(info), at.since, i)
		}
		if !w.seen[i] {
			w.doubt = append(w.doubt, e.Path)
		}
	}
}

// confidential says whether a file is, by its name, one that holds credentials.
// They are not copied because of a fork: a copy would outlive the original.
func confidential(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case ".netrc", ".npmrc", ".pypirc", ".htpasswd", ".pgpass":
		return true
	}
	for _, part := range []string{"secret", "credential", "password", "id_rsa", "id_ed25519", "id_ecdsa"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == ".env" || strings.HasPrefix(name, ".env.") ||
		slices.Contains([]string{".pem", ".key", ".p12", ".pfx", ".jks", ".keystore"}, filepath.Ext(name))
}

// outOfTheWay says whether a file is one that tools put there, by the thousand:
// those that people write come first.
func outOfTheWay(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		switch name {
		case "node_modules", "site-packages", ".venv", "__pycache__", ".cache":
			return true
		}
	}
	return false
}
