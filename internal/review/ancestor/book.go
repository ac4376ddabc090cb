// Package ancestor keeps what reality was at a box's fence, as far as that is
// certain: the third side of a three-way merge. It knows a file's bytes from a
// pin, which is a copy of its own, or from git, when git can prove that the
// file was as committed. All else is unknown: a wrong base merges wrongly and
// nobody notices, an unknown one is a conflict that somebody looks at.
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
	for range 10 { // somebody may be about to keep something of the old fence
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
