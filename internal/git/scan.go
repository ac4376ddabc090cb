package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Scan says which commit the work tree is at, and which tracked paths were
// perhaps not as it has them at the fence. It may come after the fence, and
// still tell what was at it: the index was last written before the fence, a
// file that matches it was last changed before the fence, so both are now what
// they were then. Whatever breaks that chain makes ok false, or the path dirty:
//
//   - git wrote the index, HEAD or the branch at or after the fence: not ok;
//   - no commit yet, a bare repository, a split index, replaced objects, a
//     repository git does not trust: not ok;
//   - a path is staged, unmerged, edited, touched, assumed unchanged, or not
//     checked out: dirty;
//   - a file is not as long as its blob (line ends, $Id$, LFS …): dirty,
//     because the bytes cannot be told from the blob.
func (r Repo) Scan(ctx context.Context, fence time.Time) (Clean, bool, error) {
	clean, ok, err := r.scan(ctx, fence)
	if err != nil || !ok {
		return Clean{}, false, unlessRefused(err)
	}
	return clean, true, nil
}

func (r Repo) scan(ctx context.Context, fence time.Time) (Clean, bool, error) {
	s, ok, err := r.newScanner(ctx, fence)
	if err != nil || !ok {
		return Clean{}, false, err
	}
	for _, step := range []func(context.Context) error{s.differing, s.addFlagged, s.files} {
		if err := step(ctx); err != nil {
			return Clean{}, false, err
		}
	}
	// Last, so that it holds for all that was read.
	if ok, err := s.untouched(); err != nil || !ok {
		return Clean{}, false, err
	}
	clean := Clean{Root: s.repo.Root, Head: s.head, Fence: fence, At: time.Now()}
	for path := range s.dirty {
		clean.Dirty = append(clean.Dirty, path)
	}
	slices.Sort(clean.Dirty)
	return clean, true, nil
}

// scanner gathers what is dirty.
type scanner struct {
	repo  Repo // at the top of the work tree
	fence time.Time
	head  string
	vital []string // the files that git writes when it does something
	dirty map[string]bool
}

func (r Repo) newScanner(ctx context.Context, fence time.Time) (*scanner, bool, error) {
	top, found, err := Find(ctx, r.Root, r.Owner)
	if err != nil || !found {
		return nil, false, err
	}
	s := &scanner{repo: top, fence: fence, dirty: map[string]bool{}}
	if s.vital, err = top.vital(ctx); err != nil {
		return nil, false, err
	}
	if ok, err := s.untouched(); err != nil || !ok {
		return nil, false, err
	}
	if plain, err := top.plain(ctx); err != nil || !plain {
		return nil, false, err
	}
	s.head, err = top.head(ctx)
	return s, err == nil && s.head != "", err
}

// head is the commit that HEAD names; empty when there is none yet.
func (r Repo) head(ctx context.Context) (string, error) {
	head, err := r.line(ctx, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
	return head, unlessRefused(err)
}

// plain says whether the index is all in one file, and the objects are what
// their names say: refs/replace has git check out others in their place.
func (r Repo) plain(ctx context.Context) (bool, error) {
	shared, err := r.line(ctx, "rev-parse", "--shared-index-path")
	if err != nil || shared != "" {
		return false, err
	}
	replaced, err := r.line(ctx, "for-each-ref", "--count=1", "refs/replace/")
	return replaced == "", err
}

// differing adds what is staged, edited or touched. diff-index compares the
// files' stat data and writes nothing.
func (s *scanner) differing(ctx context.Context) error {
	out, err := s.repo.read(ctx, nil, "diff-index", "-z", "--name-only", "--no-renames", "--ignore-submodules=all", s.head, "--")
	for _, path := range records(out) {
		s.dirty[path] = true
	}
	return err
}

// addFlagged adds what git was told not to look at (assume-unchanged,
// skip-worktree), which diff-index therefore calls unchanged.
func (s *scanner) addFlagged(ctx context.Context) error {
	out, err := s.repo.read(ctx, nil, "ls-files", "-z", "-v", "-f")
	for _, line := range records(out) {
		if len(line) > 2 && line[:2] != "H " {
			s.dirty[line[2:]] = true
		}
	}
	return err
}

// vital lists the files that git writes when it commits, checks out or
// stages: the index, HEAD, and the branch that HEAD names, be it in a file of
// its own or packed with others.
func (r Repo) vital(ctx context.Context) ([]string, error) {
	dir, err := r.line(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return nil, err
	}
	files := []string{filepath.Join(dir, "index"), filepath.Join(dir, "HEAD")}
	branch, err := r.line(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil || branch == "" {
		return files, unlessRefused(err) // detached: HEAD is all
	}
	common, err := r.line(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil, err
	}
	return append(files, r.refFile(common, branch)), nil
}

func (r Repo) refFile(common, branch string) string {
	loose := filepath.Join(common, branch)
	err := r.As(func() error {
		_, err := os.Lstat(loose)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return filepath.Join(common, "packed-refs")
	}
	return loose
}

// untouched says whether none of the vital files was written at or after the
// fence. One that is missing, or not a plain file, is in doubt.
func (s *scanner) untouched() (bool, error) {
	ok := true
	err := s.repo.As(func() error {
		for _, file := range s.vital {
			info, err := os.Lstat(file)
			if err != nil || !info.Mode().IsRegular() || !Settled(changeTime(info), s.fence) {
				ok = false
			}
		}
		return nil
	})
	return ok, err
}
