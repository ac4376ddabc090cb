package git

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// Uncommit takes a commit off the current branch whose files are as they were
// before it already: the branch and the index's entries for those files go
// back, as with git reset. It does so only where nothing is lost by it and no
// other has seen the commit; why says otherwise what keeps it there.
func (r Repo) Uncommit(ctx context.Context, commit string) (why string, err error) {
	if err := checkCommit("uncommit", commit); err != nil {
		return "", err
	}
	top, err := r.top(ctx)
	if err != nil {
		return "", err
	}
	parent, why, err := top.removable(ctx, commit)
	if err != nil || why != "" {
		return why, complain(err)
	}
	return "", complain(top.uncommit(ctx, parent, commit))
}

// removable finds the commit's parent, or why it must stay.
func (r Repo) removable(ctx context.Context, commit string) (parent, why string, err error) {
	head, err := r.head(ctx)
	if err != nil {
		return "", "", err
	}
	if head != commit {
		return "", "it is not the last one of the branch any more", nil
	}
	line, err := r.line(ctx, "rev-list", "--no-walk", "--parents", commit)
	if err != nil {
		return "", "", err
	}
	_, parent, _ = strings.Cut(line, " ")
	if checkCommit("uncommit", parent) != nil {
		return "", "it has no parent, or more than one", nil
	}
	seen, err := r.line(ctx, "for-each-ref", "--count=1", "--format=%(refname:short)", "--contains", commit, "refs/remotes", "refs/tags")
	if err == nil && seen != "" {
		why = seen + " has it as well"
	}
	return parent, why, err
}

// uncommit moves the index first: the branch is moved only from the commit
// that it was looked at with, so that it can refuse; then the index goes back.
func (r Repo) uncommit(ctx context.Context, parent, commit string) error {
	index, err := r.keepIndex(ctx)
	if err != nil {
		return err
	}
	paths, err := r.differing(ctx, "diff-tree", "-r", parent, commit)
	if err != nil {
		return err
	}
	staged, err := r.differing(ctx, "diff-index", "--cached", commit)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(paths, func(p string) bool { return slices.Contains(staged, p) }); i >= 0 {
		return forkbox.Errorf(forkbox.Conflict, "uncommit", "%q has been staged since", paths[i])
	}
	reset := []string{"reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul", parent}
	if len(paths) > 0 {
		_, err = r.run(ctx, call{args: reset, stdin: pathspecs(paths)})
	}
	if err == nil {
		_, err = r.run(ctx, call{args: []string{"update-ref", "-m", "forkbox: undo", "HEAD", parent, commit}})
	}
	if err != nil {
		return errors.Join(err, r.restoreIndex(ctx, index))
	}
	return nil
}

// differing are the paths that a command of git's diff family names.
func (r Repo) differing(ctx context.Context, command string, args ...string) ([]string, error) {
	out, err := r.read(ctx, nil, append([]string{command, "-z", "--name-only", "--no-renames"}, args...)...)
	return records(out), err
}

// savedIndex is the index file as it was.
type savedIndex struct {
	path    string
	content []byte // nil: there was none
	mode    fs.FileMode
	modTime time.Time
}

// keepIndex reads the index, with the owner's rights: it could be a link to
// what the owner may not read.
func (r Repo) keepIndex(ctx context.Context) (savedIndex, error) {
	dir, err := r.line(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return savedIndex{}, err
	}
	saved := savedIndex{path: filepath.Join(dir, "index")}
	err = r.As(func() error {
		info, err := os.Lstat(saved.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !info.Mode().IsRegular() {
			return forkbox.Errorf(forkbox.Unsupported, opCommit, "%s is not a plain file", saved.path)
		}
		if err != nil {
			return err
		}
		saved.mode, saved.modTime = info.Mode().Perm(), info.ModTime()
		saved.content, err = os.ReadFile(saved.path)
		return err
	})
	return saved, forkbox.Wrap("keep the git index", err)
}

// restoreIndex puts the index back unless it is as it was.
func (r Repo) restoreIndex(ctx context.Context, saved savedIndex) error {
	err := r.As(func() error {
		now, err := os.ReadFile(saved.path)
		switch {
		case err == nil && saved.content != nil && bytes.Equal(now, saved.content):
			return nil
		case errors.Is(err, fs.ErrNotExist) && saved.content == nil:
			return nil
		}
		return saved.putBack(ctx)
	})
	return forkbox.Wrap("put the git index back", err)
}

// putBack replaces the index the way git does, through index.lock, so that no
// other git writes it meanwhile. Its time is put back too: git takes files
// that are younger than the index for possibly changed, and would miss changes
// if the index became younger than it is.
func (s savedIndex) putBack(ctx context.Context) error {
	lock := s.path + ".lock"
	f, err := create(ctx, lock, s.mode)
	if err != nil {
		return err
	}
	if s.content == nil {
		err = errors.Join(f.Close(), os.Remove(s.path))
		return errors.Join(err, os.Remove(lock))
	}
	_, err = f.Write(s.content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Chmod(lock, s.mode)
	}
	if err == nil {
		err = os.Chtimes(lock, time.Time{}, s.modTime)
	}
	if err == nil {
		err = os.Rename(lock, s.path)
	}
	if err != nil {
		os.Remove(lock)
	}
	return err
}

// create makes the lock, and waits while another git holds it.
func create(ctx context.Context, lock string, mode fs.FileMode) (*os.File, error) {
	for {
		f, err := os.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o200)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
