package main

import (
	"bufio"
	"context"
	"errors"
	"sync"

	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
)

func (a *app) diffVerb() *cobra.Command {
	d := &differ{app: a}
	cmd := &cobra.Command{
		Use:   "diff [--stat|-p|--name-only] [--all] [--against BOX2] BOX[@SNAPSHOT] [BOX@SNAPSHOT2] [PATH…]",
		Short: "Show what differs between a box and reality",
		Long: `List the paths that differ between a box and what it was forked from: how, how
large, and where. Deleting a directory is one line. A name that would not print
as it is is quoted.

The list is of the workspace: the git work tree, or the directory, the box was
made in. What else changed is counted on stderr: system is elsewhere on the
machine, noise is caches, logs, and what .gitignore and .forkboxignore name.
--all lists it too. With PATH only what is there or below is listed.

BOX@SNAPSHOT is the box as it was then. With two of them it is what changed from
the first to the second; write a path that looks like one as ./a@b.

With -p it is a patch that git apply takes; what git has no form for
(directories, devices, owners) is in lines that begin with #. With --stat it is
lines added and removed. On a terminal there are colours, and a pager:
FORKBOX_PAGER, GIT_PAGER, PAGER, else less.

With --json: {"changes":[…],"summary":{…}}. summary.hash is for
apply --reviewed: it is refused when the box has changed since.`,
		Example: `  forkbox diff try
  forkbox diff -p try src/ | git apply
  forkbox diff --stat --all try
  forkbox diff --against other try
  forkbox diff try@1 try@2
  forkbox diff --name-only -z try | xargs -0 ls -ld
  forkbox diff try --json | jq -r '.changes[] | select(.kind=="deleted").path'`,
		Args:              needs(1, "a box: forkbox diff BOX [PATH…]"),
		ValidArgsFunction: a.completeDiff,
		RunE:              func(cmd *cobra.Command, args []string) error { return d.start(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.BoolVarP(&d.patch, "patch", "p", false, "a patch in git's format")
	flags.BoolVar(&d.stat, "stat", false, "lines added and removed per path")
	flags.BoolVar(&d.nameOnly, "name-only", false, "paths only")
	flags.BoolVarP(&d.nul, "null", "z", false, "with --name-only: end names with NUL, quote nothing")
	flags.BoolVar(&d.all, "all", false, "system and noise too")
	flags.StringVar(&d.against, "against", "", "compare with this `box`, or BOX@SNAPSHOT, not with reality")
	flags.BoolVar(&d.noPager, "no-pager", false, "no pager")
	flags.BoolVar(&d.raw, "raw", false, "with -p: also to a terminal as in a pipe, control sequences and all")
	cmd.MarkFlagsMutuallyExclusive("name-only", "stat", "patch")
	cmd.RegisterFlagCompletionFunc("against", a.completeRefs(0))
	return cmd
}

type differ struct {
	*app
	patch, stat, nameOnly, nul, all, noPager, raw bool

	against string
	at      place
}

// listing writes changes in one of the forms that diff has.
type listing interface {
	add(forkbox.Change) error
	end(forkbox.Summary) error
}

// run prints changes as they arrive: there may be millions.
func (d *differ) run(ctx context.Context, ref string, args []string) error {
	d.at = here()
	c := d.client()
	spec, err := d.spec(args, changedIn(ctx, c, ref))
	if err != nil {
		return err
	}
	stopProgress := sync.OnceFunc(d.progress("comparing"))
	page := d.page(d.noPager || d.json)
	page.begin = stopProgress
	out := bufio.NewWriterSize(page, 64<<10)
	list := d.listing(out)
	summary, err := c.Changes(ctx, ref, spec, list.add)
	if err == nil {
		err = list.end(summary)
	}
	if err == nil || !d.json { // half a document is none; half a list is of use
		err = errors.Join(err, out.Flush())
	}
	stopProgress()
	page.close()
	if err == nil && !d.json {
		d.tellRest(spec, summary)
	}
	return unlessSeen(err)
}

func (d *differ) spec(args []string, changed changed) (spec forkbox.DiffSpec, err error) {
	if d.nul && !d.nameOnly {
		return spec, errors.New("-z needs --name-only")
	}
	spec = forkbox.DiffSpec{Against: d.against, Patch: d.patch, Stat: d.stat, Hash: d.json}
	// In a patch a moved file is one that goes and one that comes, and so it is
	// where lines are counted.
	spec.Renames = true
	spec.All = d.all
	spec.Paths, err = d.at.pathsIn(args, changed)
	return spec, err
}

func (d *differ) listing(out *bufio.Writer) listing {
	switch {
	case d.json:
		return &jsonList{out: out}
	case d.nameOnly:
		return &nameList{out: out, at: d.at, nul: d.nul}
	case d.stat:
		return newStatTable(out, d.stdout, d.at)
	case d.patch:
		return &patchList{out: out, at: d.at, colour: takesColour(d.stdout) && !d.raw, terminal: isTerminal(d.stdout) && !d.raw}
	}
	return &changeList{out: out, tty: d.stdout, at: d.at}
}
