package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

func besideCase(what string, files int) string { return fmt.Sprintf("%s, %d files", what, files) }

const (
	btrfsSnapshot = "btrfs subvolume snapshot"
	reflinkCopy   = "cp -a --reflink=always, xfs"
	gitStash      = "git stash, all of them changed"
	gitWorktree   = "git worktree add"
	dockerCommit  = "docker commit"
)

// beside is what others have for it, as far as it is quick enough for many
// rounds. done clears up.
func beside(ctx context.Context, r *report) (cases []*measured, done func()) {
	var labs []*lab
	done = func() {
		for _, l := range labs {
			l.close()
		}
	}
	if l, err := newLab(ctx, "mkfs.btrfs", "-q"); err != nil {
		r.missing(btrfsSnapshot, err)
	} else {
		labs = append(labs, l)
		for _, files := range []int{fewFiles, manyOf()} {
			cases = r.with(cases, besideCase(btrfsSnapshot, files), files, l.btrfs)
		}
	}
	if l, err := newLab(ctx, "mkfs.xfs", "-q"); err != nil {
		r.missing(besideCase("cp --reflink, git stash, git worktree", fewFiles), err)
	} else {
		labs = append(labs, l)
		cases = r.with(cases, besideCase(reflinkCopy, fewFiles), fewFiles, l.reflink(ctx))
		cases = r.with(cases, besideCase(gitStash, fewFiles), fewFiles, l.stash(ctx))
		cases = r.with(cases, besideCase(gitWorktree, fewFiles), fewFiles, l.worktree(ctx))
	}
	return cases, done
}

// copiesOfMany is what takes others so long that it is done once, and not
// after end; and what is only there with an engine.
func copiesOfMany(ctx context.Context, r *report, end time.Time) error {
	commits(ctx, r)
	within, cancel := context.WithDeadlineCause(ctx, end, fmt.Errorf("no time was left"))
	defer cancel()
	l, err := newLab(within, "mkfs.xfs", "-q")
	if err != nil {
		r.missing(besideCase("cp --reflink, git stash, git worktree", manyOf()), err)
		return ctx.Err()
	}
	defer l.close()
	cases := r.with(nil, besideCase(reflinkCopy, manyOf()), manyOf(), l.reflink(within))
	cases = r.with(cases, besideCase(gitWorktree, manyOf()), manyOf(), l.worktree(within))
	cases = r.with(cases, besideCase(gitStash, manyOf()), manyOf(), l.stash(within))
	for _, c := range cases {
		c.after = nil // it is done once, and goes with the lab
		if err := add(r, 1, []*measured{c}); err != nil && within.Err() != nil {
			r.missing(c.name, context.Cause(within))
		} else if err != nil {
			r.missing(c.name, err)
		}
	}
	return ctx.Err()
}

// missing says why there is no figure.
func (r *report) missing(name string, why error) {
	r.Rows = append(r.Rows, row{Name: name, Note: "not measured: " + strings.ReplaceAll(why.Error(), "\n", " ")})
}

// with adds a case, or says why it cannot be measured here.
func (r *report) with(cases []*measured, name string, files int, prepare func(files int) (*measured, error)) []*measured {
	c, err := prepare(files)
	if err != nil {
		r.missing(name, err)
		return cases
	}
	c.name, c.quiet = name, settle
	return append(cases, c)
}
