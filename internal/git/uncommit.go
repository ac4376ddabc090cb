package git

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// Uncommit takes a commit off the current branch whose files are as they were
// before it already: the branch and the index's entries for those files go
// back, as with git reset. It does so only where nothing is lost by it and
// nobody else has seen the commit; why says otherwise what keeps it there.
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
