package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

const opCommit = "commit"

// CommitSpec is what to commit.
type CommitSpec struct {
	// Paths are absolute. A directory stands for all that is below it: one of
	// which only the attributes changed must not be among them, or what else
	// was edited below it is committed too.
	Paths   []string
	Message string // empty: "Apply changes of box …"
	Box     string // its name
	Receipt string // its id
	// Hooks has git run what the repository configures: its hooks and filters.
	Hooks bool
}

// Commit commits the given paths as they are in the work tree, and nothing
// else: what is staged for other paths stays staged. When it fails, the index
// is put back byte for byte and HEAD is where it was.
//
// Hooks do not run unless the caller says so, nor do filters that the
// repository configures: a path that needs one is an Unsupported error. Filters
// and signing of the user's own configuration work as usual.
//
// skipped are the given paths that git has nothing to commit for: untracked
// and ignored, empty directories, outside of the work tree or in a repository
// of their own. Nothing left to commit is an Invalid error, as is whatever git
// or a hook refuses, in their own words.
//
// The repository's or the user's configuration decides the rest:
// forkbox.author ("Name <mail>"), forkbox.coAuthor (any number), and
// forkbox.commitTemplate with {message}, {box}, {receipt} and {count}.
func (r Repo) Commit(ctx context.Context, spec CommitSpec) (id string, skipped []string, err error) {
	top, err := r.top(ctx)
	if err != nil {
		return "", nil, err
	}
	paths, err := top.choose(ctx, r.Root, spec.Paths)
	if err != nil {
		return "", nil, complain(err)
	}
	if len(paths.kept) == 0 {
		return "", paths.skipped, nothingToCommit()
	}
	args, err := top.commitArgs(ctx, spec, len(spec.Paths)-len(paths.skipped))
	if err != nil {
		return "", paths.skipped, complain(err)
	}
	if !spec.Hooks {
		if err := top.refuseFiltered(ctx, setOf(paths.kept)); err != nil {
			return "", paths.skipped, complain(err)
		}
	}
	id, err = top.commit(ctx, paths, call{args: args, own: spec.Hooks, keepOwners: true})
	return id, paths.skipped, complain(err)
}

// top is the repository at the top of the work tree. That git sees none here is
// an error, for the caller asked for a commit.
func (r Repo) top(ctx context.Context) (Repo, error) {
	top, err := r.line(ctx, "rev-parse", "--show-toplevel")
	return Repo{Root: top, Owner: r.Owner}, complain(err)
}

// commit stages what is new, so that git knows it, and has git commit the
// paths. Both are undone when it fails.
func (r Repo) commit(ctx context.Context, paths chosen, c call) (id string, err error) {
	before, err := r.head(ctx)
	if err != nil {
		return "", err
	}
	index, err := r.keepIndex(ctx)
	if err != nil {
		return "", err
	}
	if err := r.atRest(filepath.Dir(index.path)); err != nil {
		return "", err
	}
	id, err = r.commitNow(ctx, paths, c)
	if err == nil {
		return id, nil
	}
	if worse := r.takeBack(ctx, before, index); worse != nil {
		err = errors.Join(err, worse)
	}
	return "", err
}

func (r Repo) commitNow(ctx context.Context, paths chosen, c call) (id string, err error) {
	if len(paths.fresh) > 0 {
		add := c
		add.args, add.stdin = []string{"update-index", "-z", "--add", "--replace", "--stdin"}, terminated(paths.fresh)
		if _, err := r.run(ctx, add); err != nil {
			return "", err
		}
	}
	c.stdin = pathspecs(paths.kept)
	if _, err := r.run(ctx, c); err != nil {
		return "", r.whyNot(ctx, err, setOf(paths.kept))
	}
	r.alignIndex(ctx, paths.kept)
	return r.head(ctx)
}

// atRest refuses to put a commit in the middle of a rebase or a revert, where
// git would take it. During a merge or a cherry-pick git itself refuses.
func (r Repo) atRest(gitDir string) error {
	return r.As(func() error {
		for _, name := range []string{"rebase-merge", "rebase-apply", "REVERT_HEAD"} {
			if _, err := os.Lstat(filepath.Join(gitDir, name)); err == nil {
				what, _, _ := strings.Cut(strings.ToLower(name), "-")
				what = strings.TrimSuffix(what, "_head")
				return forkbox.Errorf(forkbox.Busy, opCommit, "a %s is in progress in this repository", what).
					Hint("finish it, or give it up: git %s --continue, git %s --abort", what, what)
			}
		}
		return nil
	})
}

// whyNot tells "nothing to commit" from a refusal: then git sees no change.
// What is in submodules is not asked, for that would run git in them.
func (r Repo) whyNot(ctx context.Context, err error, kept pathSet) error {
	var no *refusal
	if !errors.As(err, &no) || no.code != 1 {
		return err
	}
	out, serr := r.run(ctx, call{
		args:       []string{"status", "--porcelain", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=all"},
		env:        []string{"GIT_OPTIONAL_LOCKS=0"},
		keepOwners: true,
	})
	for _, line := range records(out) { // "XY PATH"
		if len(line) > 3 && kept.hold(line[3:]) {
			return err
		}
	}
	if serr != nil {
		return err
	}
	return nothingToCommit()
}

// alignIndex makes the index what was committed: a hook may have altered the
// files on the way (a formatter does), and git then leaves the index at what
// they were before, as if the user had staged to take the hook's work back.
// The commit is made: a failure here is no reason to undo it.
func (r Repo) alignIndex(ctx context.Context, committed []string) {
	out, err := r.read(ctx, nil, "diff-index", "--cached", "-z", "--name-only", "--no-renames", "HEAD", "--")
	if err != nil {
		return
	}
	set := setOf(committed)
	behind := slices.DeleteFunc(records(out), func(p string) bool { return !set.hold(p) })
	if len(behind) > 0 {
		reset := []string{"reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul", "HEAD"}
		_, _ = r.run(ctx, call{args: reset, stdin: pathspecs(behind)})
	}
}

// takeBackLimit bounds what must be done although the caller has gone.
const takeBackLimit = 20 * time.Second

// takeBack puts HEAD and the index back. Git can fail, or be killed, after it
// has moved HEAD: only a commit on top of the old HEAD can be ours.
func (r Repo) takeBack(ctx context.Context, before string, index savedIndex) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackLimit)
	defer cancel()
	after, err := r.head(ctx)
	if err == nil && after != before {
		parents, _ := r.line(ctx, "rev-list", "--no-walk", "--parents", after)
		_, father, _ := strings.Cut(parents, " ")
		if father == before {
			err = r.moveHead(ctx, before, after)
		}
	}
	return errors.Join(err, r.restoreIndex(ctx, index))
}

func (r Repo) moveHead(ctx context.Context, before, after string) error {
	args := []string{"update-ref", "-m", "forkbox: commit failed", "HEAD", before, after}
	if before == "" {
		args = []string{"update-ref", "-d", "HEAD", after}
	}
	_, err := r.run(ctx, call{args: args})
	return err
}

func nothingToCommit() error {
	return forkbox.Errorf(forkbox.Invalid, opCommit, "nothing to commit: git sees no change in what was applied").
		Hint("git leaves out ignored files, empty directories and what is outside of the work tree; apply without --commit")
}

// complain passes on git's own words, with what to do about them.
func complain(err error) error {
	if err == nil || unlessRefused(err) != nil {
		return err
	}
	e := forkbox.Errorf(forkbox.Invalid, opCommit, "%w", err)
	switch words := err.Error(); {
	case strings.Contains(words, "dubious ownership"):
		return e.Hint("git does not trust this repository; see safe.directory in git help config")
	case strings.Contains(words, "tell me who you are"):
		return e.Hint("set user.name and user.email with git config")
	case strings.Contains(words, "index.lock"):
		return e.Hint("another git is at work in this repository; try again when it has ended")
	}
	return e.Hint("nothing was committed; the index is as it was")
}
