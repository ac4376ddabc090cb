package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

const (
	caseFind     = "find over the upper, 10 000 files"
	caseDiffAll  = "forkbox diff, 10 000 changed files, many in the base"
	caseDiffFew  = "forkbox diff, 10 000 changed files, 10 000 in the base"
	caseCopy     = "cp -a of 10 000 small files + sync"
	caseApply    = "API: apply of 10 000 small files"
	caseUndo     = "API: undo of it"
	caseGitDiff  = "git diff of 10 000 changed files"
	casePatch    = "forkbox diff --patch of the same"
	caseGitApply = "git apply of that patch + sync"
	caseReapply  = "API: apply of the same change set"
)

const changedFiles = 10000

var entries = flag.Int("entries", 1000000, "files in the base of the case with many")

// changes measures reading and landing 10 000 changed files.
func changes(ctx context.Context, d *daemon, r *report, rounds int) error {
	rounds = max(3, rounds/20)
	few, err := tree(changedFiles)
	if err != nil {
		return err
	}
	defer os.RemoveAll(few)
	for _, part := range []func(context.Context, *daemon, *report, int, string) error{landing, reading, besideGit} {
		if err := part(ctx, d, r, rounds, few); err != nil {
			return err
		}
	}
	return nil
}

// reading compares diff with the least that one could do: look at every file
// that the box changed.
func reading(ctx context.Context, d *daemon, r *report, rounds int, few string) error {
	many, err := tree(*entries)
	if err != nil {
		return err
	}
	defer os.RemoveAll(many)
	var boxes []string
	for _, dir := range []string{many, few} {
		id, err := d.changed(ctx, dir)
		if err != nil {
			return err
		}
		defer d.Remove(ctx, id, true)
		boxes = append(boxes, id)
	}
	upper := filepath.Join(d.home, "boxes", boxes[0], "top", "upper")
	cases := []*measured{
		{name: caseFind, do: command("find", upper)},
		{name: caseDiffAll, do: func() error { return d.cli("diff", "--name-only", boxes[0]) }},
		{name: caseDiffFew, do: func() error { return d.cli("diff", "--name-only", boxes[1]) }},
	}
	return add(r, 4*rounds, cases)
}

// changed makes a box in dir that has changed the first 10 000 files in it.
func (d *daemon) changed(ctx context.Context, dir string) (string, error) {
	box, err := d.Create(ctx, api.CreateRequest{Dir: dir, Env: os.Environ()})
	if err != nil {
		return "", err
	}
	const script = `for d in 0 1 2 3 4 5 6 7 8 9; do for f in $d/*; do echo changed > $f; done; done`
	if err := d.sh(ctx, box.ID, dir, []string{"sh", "-c", script}); err != nil {
		return "", err
	}
	_, err = d.Stop(ctx, box.ID, nil)
	return box.ID, err
}

// landing compares apply with copying the same files.
func landing(ctx context.Context, d *daemon, r *report, rounds int, few string) error {
	target, err := os.MkdirTemp("", "fbtest-land-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(target)
	box, err := d.Create(ctx, api.CreateRequest{Dir: target, Env: os.Environ()})
	if err != nil {
		return err
	}
	defer d.Remove(ctx, box.ID, true)
	if err := d.sh(ctx, box.ID, target, []string{"cp", "-a", few, "landed"}); err != nil {
		return err
	}
	copied := target + "-copy"
	defer os.RemoveAll(copied)
	cases := []*measured{
		{name: caseCopy, do: command("sh", "-c", `cp -a "$1" "$2" && sync -f "$2"`, "sh", few, copied), after: func() error { return os.RemoveAll(copied) }},
		{name: caseApply, do: func() error { return d.apply(ctx, box.ID) }},
		{name: caseUndo, do: func() error { return d.undo(ctx) }},
	}
	return add(r, rounds, cases)
}

func (d *daemon) apply(ctx context.Context, box string) error {
	receipt, err := d.Apply(ctx, box, forkbox.ApplySpec{})
	d.landed = receipt.ID
	if err == nil && receipt.Paths < changedFiles {
		err = fmt.Errorf("%d paths landed", receipt.Paths)
	}
	return err
}

// undo takes back what apply landed last.
func (d *daemon) undo(ctx context.Context) error {
	_, err := d.Undo(ctx, d.landed, api.UndoRequest{})
	return err
}

// besideGit does with git and with forkbox what both can: show 10 000 changed
// files, and land them.
func besideGit(ctx context.Context, d *daemon, r *report, rounds int, few string) error {
	if err := repository(few); err != nil {
		return err
	}
	clone := few + "-changed"
	defer os.RemoveAll(clone)
	if err := command("cp", "-a", few, clone)(); err != nil {
		return err
	}
	target := few + "-target" // reality must not move under the box
	defer os.RemoveAll(target)
	if err := command("cp", "-a", few, target)(); err != nil {
		return err
	}
	const script = `for d in 0 1 2 3 4 5 6 7 8 9; do for f in $d/*; do echo changed > $f; done; done`
	if err := command("sh", "-c", "cd "+clone+" && "+script)(); err != nil {
		return err
	}
	patch, err := exec.Command("git", "-C", clone, "diff").Output()
	if err != nil {
		return err
	}
	id, err := d.changed(ctx, few)
	if err != nil {
		return err
	}
	defer d.Remove(ctx, id, true)
	cases := []*measured{
		{name: caseGitDiff, do: command("git", "-C", clone, "diff")},
		{name: casePatch, do: func() error { return d.cli("diff", "--patch", id) }},
		{name: caseGitApply, do: func() error { return gitApply(target, patch) }, after: command("git", "-C", target, "checkout", "-q", ".")},
		{name: caseReapply, do: func() error { return d.apply(ctx, id) }, after: func() error { return d.undo(ctx) }},
	}
	return add(r, rounds, cases)
}

func repository(dir string) error {
	const script = `cd "$1" && git init -q && git add . && git -c user.name=b -c user.email=b@example.org commit -qm base`
	return command("sh", "-c", script, "sh", dir)()
}

func gitApply(dir string, patch []byte) error {
	cmd := exec.Command("sh", "-c", "git apply && sync -f .")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(patch)
	return cmd.Run()
}

func add(r *report, rounds int, cases []*measured) error {
	if err := interleave(rounds, cases); err != nil {
		return err
	}
	for _, c := range cases {
		r.add(c.name, c.times, "")
	}
	return nil
}

// judgeChanges compares with what the project wants of reading and landing.
func (r *report) judgeChanges() {
	if r.median(caseFind) == 0 {
		return
	}
	r.want(fmt.Sprintf("diff of 10 000 files on %d / find", *entries), 3, r.median(caseDiffAll)/r.median(caseFind), "×")
	r.want("the same, many / 10 000 in the base", 1.5, r.median(caseDiffAll)/r.median(caseDiffFew), "×")
	r.want("apply of 10 000 files / cp -a + sync", 3, r.median(caseApply)/r.median(caseCopy), "×")
}
