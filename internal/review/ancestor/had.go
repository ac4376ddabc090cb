package ancestor

import (
	"context"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/git"
)

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
	s := b.looked()
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
