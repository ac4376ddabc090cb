package ancestor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/git"
)

// seen is what a look found out for one book.
type seen struct {
	Fence int64           `json:"fence"`
	Root  forkbox.Strings `json:"root"` // one
	// Packs are those that have files, the newest first: it is what counts. Of
	// what is void nothing is certain, whichever pack has it.
	Packs []string        `json:"packs,omitempty"`
	Void  forkbox.Strings `json:"void,omitempty"`
	// Index is the copy of git's. What it says is certain but for the exceptions.
	Index  string          `json:"index,omitempty"`
	Except forkbox.Strings `json:"except,omitempty"`
	// IndexMode is the mode of the index, where that itself is as at the fence.
	IndexMode uint32 `json:"index_mode,omitempty"`
	// Folders has the modes and numbers of directories; of the young ones the modes
	// are not certain, of the moved ones neither.
	Folders string          `json:"folders,omitempty"`
	Young   forkbox.Strings `json:"young,omitempty"`
	Moved   forkbox.Strings `json:"moved,omitempty"`
}

func (b *Book) seenName() string { return fmt.Sprintf("seen-%d", b.at().UnixNano()) }

// see keeps what was seen, unless the fence has moved meanwhile.
func (b *Book) see(s seen) error {
	if name := b.seenName(); s.Fence == b.at().UnixNano() {
		err := save(b.dir, name, s)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.sights = nil // read it again
		return err
	}
	return nil
}

// Looked says whether the book has what a look at the workspace told.
func (b *Book) Looked() bool {
	_, err := os.Lstat(filepath.Join(b.dir, b.seenName()))
	return err == nil
}

// sights is a record of a look with what it names.
type sights struct {
	seen
	dir    string
	tables []map[string]place // of the packs
	index  *git.Index         // nil where none is kept
	folders
}

// readSights reads what was seen, nil if nothing was or something of it is damaged.
func (b *Book) readSights() *sights {
	name := b.seenName()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sights != nil {
		return b.sights
	}
	s := &sights{dir: b.dir}
	if load(b.dir, name, &s.seen) != there || s.Fence != b.fence.UnixNano() || len(s.Root) != 1 || s.open() != nil {
		return nil
	}
	b.sights = s
	return s
}

func (s *sights) open() error {
	for _, name := range s.Packs {
		f, t, err := openPack(filepath.Join(s.dir, filepath.Base(name)))
		if err != nil {
			return err // an older pack may have older versions
		}
		f.Close()
		places := make(map[string]place, len(t.Paths))
		for i, path := range t.Paths {
			places[path] = t.Places[i]
		}
		s.tables = append(s.tables, places)
	}
	if err := s.openFolders(); err != nil || s.Index == "" {
		return err
	}
	raw, err := os.ReadFile(filepath.Join(s.dir, filepath.Base(s.Index)))
	if err != nil {
		return err
	}
	entries, err := git.ParseIndex(raw) // which has a checksum
	s.index = &git.Index{Entries: entries, Raw: raw}
	return err
}

// rel is a path as the record has it.
func (s *sights) rel(path string) (string, bool) {
	root := s.Root[0]
	if path == root {
		return ".", true
	}
	if !forkbox.Within(path, root) {
		return "", false
	}
	return strings.TrimPrefix(strings.TrimPrefix(path, root), "/"), true
}

// packed is where a file's content is: in which pack, and where in it.
func (s *sights) packed(rel string) (pack string, at place, ok bool) {
	if _, void := slices.BinarySearch(s.Void, rel); void {
		return "", place{}, false
	}
	for i, t := range s.tables {
		if at, ok := t[rel]; ok {
			return s.Packs[i], at, true
		}
	}
	return "", place{}, false
}

// entry is what the index has, where that is certain.
func (s *sights) entry(rel string) (git.IndexEntry, bool) {
	if s.index == nil {
		return git.IndexEntry{}, false
	}
	if _, not := slices.BinarySearch(s.Except, rel); not {
		return git.IndexEntry{}, false
	}
	e, ok := s.index.Find(rel)
	return e, ok && e.Told
}

// sighted is what the look knows of a path.
func (b *Book) sighted(ctx context.Context, path string) (content []byte, mode fs.FileMode, known bool, err error) {
	s := b.readSights()
	if s == nil {
		return nil, 0, false, nil
	}
	rel, ok := s.rel(path)
	if !ok {
		return nil, 0, false, nil
	}
	if mode, ok := s.folder(rel); ok {
		return nil, mode, true, nil
	}
	if rel == ".git/index" && s.index != nil && s.IndexMode != 0 {
		return s.index.Raw, fs.FileMode(s.IndexMode), true, nil
	}
	if pack, at, ok := s.packed(rel); ok {
		f, err := os.Open(filepath.Join(s.dir, pack))
		if err != nil {
			return nil, 0, false, nil
		}
		defer f.Close()
		content, known = at.content(f)
		return content, fs.FileMode(at.Mode), known, nil
	}
	e, ok := s.entry(rel)
	if !ok || b.repo == nil {
		return nil, 0, false, nil
	}
	content, mode, err = git.Repo{Root: s.Root[0], Owner: b.repo.Owner}.Object(ctx, e)
	switch {
	case err == nil:
		return content, mode, true, nil
	case errors.Is(err, git.ErrUnknown), forkbox.CodeOf(err) == forkbox.Unsupported:
		return nil, 0, false, nil
	}
	return nil, 0, false, err
}

// Copied says whether a look has copied the file: then it needs no pin.
func (b *Book) Copied(path string) bool {
	s := b.readSights()
	if s == nil {
		return false
	}
	rel, ok := s.rel(path)
	if ok {
		_, _, ok = s.packed(rel)
	}
	return ok
}
