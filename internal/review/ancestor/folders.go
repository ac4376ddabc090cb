package ancestor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// folder is a directory of a workspace. A box that writes a file has a copy of
// each directory that the file lies in, with the mode that it had: which side
// changed a mode is known only where it is known what it was. And which directory
// it was tells, when its times do not, that reality put no other in its place.
type folder struct {
	path   string // relative; "." is the workspace
	mode   fs.FileMode
	number uint64 // of its inode
	since  int64  // it is there, and as it is, since then
	placed int64  // it is there since then
}

const (
	foldersPrefix = "dirs-"
	maxFolders    = 10000 // that are kept
)

// folders is what is kept of them, sorted by path.
type folders struct {
	Paths forkbox.Strings `json:"paths"`
	Modes []uint32        `json:"modes"`
	// Numbers are those of their inodes; records of older versions have none.
	Numbers []uint64 `json:"numbers,omitempty"`
}

// shareFolders keeps the modes and numbers of directories, in one file for all boxes that
// were forked while these were the same.
func (w *Workspace) shareFolders(s *sight, books []*Book) {
	slices.SortFunc(s.folders, func(a, b folder) int { return strings.Compare(a.path, b.path) })
	var f folders
	for _, d := range s.folders {
		f.Paths, f.Modes, f.Numbers = append(f.Paths, d.path), append(f.Modes, uint32(d.mode)), append(f.Numbers, d.number)
	}
	text, err := json.Marshal(f)
	if err != nil {
		w.folders = nil
		return
	}
	sum := hash(text)
	w.folders = share(w.folders, foldersPrefix+sum[:32], fmt.Appendf(nil, "%s\n%s", sum, text), books)
}

// youngFolders are those of which it is not certain what they were at a fence.
func (s *sight) youngFolders(fence int64) (young forkbox.Strings) {
	for _, d := range s.folders {
		if d.since >= fence {
			young = append(young, d.path)
		}
	}
	return young
}

// movedFolders are those that may have been put where they are after a fence.
func (s *sight) movedFolders(fence int64) (moved forkbox.Strings) {
	for _, d := range s.folders {
		if d.placed >= fence {
			moved = append(moved, d.path)
		}
	}
	return moved
}

// openFolders reads what a record of a look names.
func (s *sights) openFolders() error {
	if s.Folders == "" {
		return nil
	}
	if load(s.dir, filepath.Base(s.Folders), &s.folders) != there || len(s.folders.Paths) != len(s.folders.Modes) {
		return errors.New("damaged")
	}
	return nil
}

// folder is the mode of a directory at the fence.
func (s *sights) folder(rel string) (fs.FileMode, bool) {
	at, ok := slices.BinarySearch(s.folders.Paths, rel)
	if _, young := slices.BinarySearch(s.Young, rel); !ok || young {
		return 0, false
	}
	return fs.FileMode(s.folders.Modes[at]), true
}

// Directory is the number of the inode that a directory had at the fence, where
// that is known.
func (b *Book) Directory(path string) (number uint64, known bool) {
	s := b.readSights()
	if s == nil {
		return 0, false
	}
	rel, ok := s.rel(path)
	at, found := slices.BinarySearch(s.folders.Paths, rel)
	if _, moved := slices.BinarySearch(s.Moved, rel); !ok || !found || moved || len(s.Numbers) != len(s.folders.Paths) {
		return 0, false
	}
	return s.Numbers[at], true
}

// share has the first book that is there keep a file, unless the last one that
// was kept is the same.
func share(last *shared, name string, content []byte, books []*Book) *shared {
	if last != nil && last.name == name && !last.lost() {
		return last
	}
	home, err := inOne(books, func(to *os.File) (string, error) {
		_, err := to.Write(content)
		return name, err
	})
	if err != nil {
		return nil
	}
	return &shared{name: name, homes: []string{home}}
}
