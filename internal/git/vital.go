package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

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
