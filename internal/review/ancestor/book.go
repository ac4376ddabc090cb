// Package ancestor keeps what reality was at a box's fence, as far as that is
// certain: the third side of a three-way merge. It knows a file's bytes from a
// pin, which is a copy of its own, or from git, when git can prove that the
// file was as committed. All else is unknown: a wrong base merges wrongly and
// no person notices, an unknown one is a conflict that its owner looks at.
package ancestor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/git"
)

// Book is what is known of one box's base. It is a directory of small files,
// so that several processes may use it at once and removing the directory
// removes it. Each record says which fence it is for and carries a hash: a
// record of another fence, or a damaged one, is as good as none.
type Book struct {
	dir  string
	repo *git.Repo

	mu     sync.Mutex
	fence  time.Time
	clean  *git.Clean // as last read from the book, as sights are
	sights *sights

	paths   map[string]bool // what git tracks in the commit pathsOf
	pathsOf string
}

// Open uses the book in dir, which is made when something is first kept. repo
// is the workspace's repository, or nil.
func Open(dir string, repo *git.Repo, fence time.Time) *Book {
	// A directory of its own, so that Reset removes nothing else.
	return &Book{dir: filepath.Join(dir, "book"), repo: repo, fence: fence}
}

// Note keeps what git said of the work tree at this book's fence.
func (b *Book) Note(c git.Clean) error {
	fence := b.at()
	if !c.Fence.Equal(fence) {
		return forkbox.Errorf(forkbox.Invalid, "note the work tree", "it was looked at for another fence")
	}
	note := note{Fence: fence.UnixNano(), Root: raw(c.Root), Head: c.Head, Dirty: c.Dirty, At: c.At}
	if err := save(b.dir, noteName, note); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clean = nil // read it again
	return nil
}

// Base is what reality had at path at the fence. known says whether that is
// known; then either absent is true, because nothing was there, or content and
// mode are those of a regular file, of a symlink (content is its target) or of a
// directory (which has none): mode says which. Where it comes from git, of the permissions only those to
// execute mean something: git keeps no others.
//
// Git never tells that nothing was there: what it does not track may have been
// there all the same.
func (b *Book) Base(ctx context.Context, path string) (content []byte, mode fs.FileMode, known, absent bool, err error) {
	slot := b.slot(path)
	pin, state := slot.find()
	switch {
	case state == damaged:
		// Not even git: the pin may have been set because git was wrong.
		return nil, 0, false, false, ctx.Err()
	case state == there && pin.Absent:
		return nil, 0, true, true, nil
	case state == there:
		content, known = slot.content(pin)
		return content, fs.FileMode(pin.Mode), known, false, nil
	}
	if content, mode, known, err = b.sighted(ctx, path); known || err != nil {
		return content, mode, known, false, err
	}
	content, mode, known, err = b.committed(ctx, path)
	return content, mode, known, false, err
}

// committed is what git has, for a path that was clean.
func (b *Book) committed(ctx context.Context, path string) (content []byte, mode fs.FileMode, known bool, err error) {
	clean := b.cleanAt()
	if b.repo == nil || clean == nil || !forkbox.Within(path, clean.Root) || path == clean.Root {
		return nil, 0, false, nil
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(path, clean.Root), "/")
	if _, dirty := slices.BinarySearch(clean.Dirty, rel); dirty {
		return nil, 0, false, nil
	}
	repo := git.Repo{Root: clean.Root, Owner: b.repo.Owner}
	content, mode, err = repo.Blob(ctx, clean.Head, rel)
	switch {
	case err == nil:
		return content, mode, true, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, git.ErrUnknown), forkbox.CodeOf(err) == forkbox.Unsupported:
		return nil, 0, false, nil
	}
	return nil, 0, false, err
}

// cleanAt is the note for the current fence, nil without one.
func (b *Book) cleanAt() *git.Clean {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.clean != nil {
		return b.clean
	}
	var n note
	if load(b.dir, noteName, &n) != there || n.Fence != b.fence.UnixNano() || len(n.Root) != 1 {
		return nil
	}
	b.clean = &git.Clean{Root: n.Root[0], Head: n.Head, Dirty: n.Dirty, Fence: b.fence, At: n.At}
	return b.clean
}

// Reset forgets everything, for the fence has moved: what reality was at the
// old one is no base any more. Explicit pins for the new fence come after it.
func (b *Book) Reset(fence time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fence, b.clean, b.sights = fence, nil, nil
	var err error
	for range 10 { // another task may be about to keep something of the old fence
		if err = os.RemoveAll(b.dir); err == nil {
			break
		}
	}
	return forkbox.Wrap("forget the old base", err)
}

func (b *Book) at() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fence
}

// Head is the commit that the work tree was at, "" if git did not tell.
func (b *Book) Head() string {
	if c := b.cleanAt(); c != nil {
		return c.Head
	}
	return ""
}

// Had says whether it is known that reality had a file at path at the fence.
// It is for many paths: what git tracks is asked for once.
func (b *Book) Had(ctx context.Context, path string) (bool, error) {
	switch p, state := b.slot(path).find(); state {
	case there:
		return !p.Absent, nil
	case damaged:
		return false, nil // and git may be wrong, see Base
	}
	if b.sighting(path) {
		return true, nil
	}
	clean := b.cleanAt()
	if clean == nil || b.repo == nil || !forkbox.Within(path, clean.Root) {
		return false, nil
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(path, clean.Root), "/")
	if _, dirty := slices.BinarySearch(clean.Dirty, rel); dirty {
		return false, nil // it may have been deleted before the fork
	}
	tracked, err := b.tracked(ctx, clean)
	return tracked[rel], err
}

// sighting says whether a look knows of a file.
func (b *Book) sighting(path string) bool {
	s := b.readSights()
	if s == nil {
		return false
	}
	rel, ok := s.rel(path)
	if !ok {
		return false
	}
	if _, _, ok := s.packed(rel); ok {
		return true
	}
	_, ok = s.entry(rel)
	return ok
}

// Tracks says whether git tracks a path, as of the fence. Where git did not
// tell it is false.
func (b *Book) Tracks(ctx context.Context, path string) (bool, error) {
	clean := b.cleanAt()
	if clean == nil || b.repo == nil || !forkbox.Within(path, clean.Root) {
		return false, nil
	}
	tracked, err := b.tracked(ctx, clean)
	return tracked[strings.TrimPrefix(strings.TrimPrefix(path, clean.Root), "/")], err
}

func (b *Book) tracked(ctx context.Context, clean *git.Clean) (map[string]bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paths == nil || b.pathsOf != clean.Head {
		paths, err := git.Repo{Root: clean.Root, Owner: b.repo.Owner}.Tracked(ctx, clean.Head)
		if err != nil {
			return nil, err
		}
		b.paths, b.pathsOf = paths, clean.Head
	}
	return b.paths, nil
}

// HandDown has one box's book begin with all that another one's has: they were
// forked at the same fence, one from the other. Records are never changed in
// place, so both can have the same files.
func HandDown(from, to string) error {
	from, to = filepath.Join(from, "book"), filepath.Join(to, "book")
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing is known, or was replaced meanwhile
		}
		if err != nil {
			return err
		}
		target := to + path[len(from):]
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		if strings.HasPrefix(d.Name(), newPrefix) {
			return nil // it is being made
		}
		if err := os.Link(path, target); !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}
