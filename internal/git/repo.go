// Package git asks git about a work tree, and makes commits in it, with the
// rights of the person it belongs to and never with more: a repository can
// name programs to run (hooks, filters, a monitor), and the daemon may be root.
//
// Git itself decides whether it trusts a repository. One that it does not
// trust is a work tree nothing is known about, not an error.
package git

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// Repo is a work tree and the person who works in it.
type Repo struct {
	Root  string // the top of the work tree
	Owner forkbox.Owner
}

// Clean is what a work tree was at a moment, as far as git knows it.
type Clean struct {
	Root string // the top of the work tree, without symlinks
	Head string // the commit
	// Dirty are the tracked paths, relative to Root, whose bytes at the fence
	// are not known to be those that Head has; sorted.
	Dirty []string
	Fence time.Time // the moment
	At    time.Time // when git was asked
}

// ErrUnknown says that git cannot tell what bytes a file had.
var ErrUnknown = errors.New("git does not know the bytes of this file")

// Find is the work tree that dir lies in, as its owner's git sees it. ok is
// false where there is none, or none that git trusts.
func Find(ctx context.Context, dir string, owner forkbox.Owner) (repo Repo, ok bool, err error) {
	top, err := Repo{Root: dir, Owner: owner}.line(ctx, "rev-parse", "--show-toplevel")
	if err != nil || top == "" {
		return Repo{}, false, unlessRefused(err)
	}
	return Repo{Root: top, Owner: owner}, true, nil
}

// Settled says whether a file whose inode last changed at ctime is certainly
// as it was at the fence. Some filesystems keep whole seconds (FAT: two), so
// that a later change can have an earlier time.
func Settled(ctime, fence time.Time) bool {
	if ctime.Nanosecond() == 0 {
		ctime = ctime.Add(2 * time.Second)
	}
	return ctime.Before(fence)
}

// line runs a command that prints one line. A path in it may have newlines of
// its own, so that several must not be asked for at once.
func (r Repo) line(ctx context.Context, args ...string) (string, error) {
	out, err := r.read(ctx, nil, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// checkCommit refuses anything that git could take for an option or a range.
func checkCommit(op, commit string) error {
	sized := len(commit) == 40 || len(commit) == 64
	if !sized || strings.Trim(commit, "0123456789abcdef") != "" {
		return forkbox.Errorf(forkbox.Invalid, op, "%q is not the id of a commit", commit)
	}
	return nil
}

// checkPath refuses what does not name a place in the work tree.
func checkPath(op, path string) error {
	if path == "." || !filepath.IsLocal(path) || filepath.Clean(path) != path || strings.ContainsRune(path, 0) {
		return forkbox.Errorf(forkbox.Invalid, op, "%q is not a clean path below the work tree", path)
	}
	return nil
}

// records splits output that git ends with a zero byte each (-z).
func records(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}
