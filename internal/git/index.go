package git

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/forkbox/forkbox"
)

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
