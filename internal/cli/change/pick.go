package change

import (
	"bufio"
	"context"
	"io"
	"path"
	"reflect"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// picker asks which changes are wanted, as git add -p does.
type picker struct {
	in     *bufio.Reader
	out    io.Writer
	colour bool
	here   place.Place
}

// picks are what was chosen.
type picks struct {
	paths forkbox.Strings // all that is chosen, in whole or in part
	hunks []forkbox.HunkSelection
}

// run asks about every change until the answers end or are q. What was chosen
// before that stays chosen.
func (p *picker) run(changes []forkbox.Change) picks {
	files := pickFiles(changes)
	for _, f := range files {
		if f.implied || refusedAbove(files, f) {
			continue
		}
		session := &pickSession{picker: p, file: f}
		if session.run(); session.quit {
			break
		}
	}
	return chosen(files)
}

// pickFiles prepares the questions. A new directory with something in it is not
// asked about: it lands with what is wanted of it.
func pickFiles(changes []forkbox.Change) []*pickFile {
	above := map[string]bool{}
	for _, c := range changes {
		for dir := path.Dir(rawPath(c)); dir != "/" && !above[dir]; dir = path.Dir(dir) {
			above[dir] = true
		}
	}
	var files []*pickFile
	for _, c := range changes {
		f := newPickFile(c)
		f.above = above[f.path]
		f.implied = f.above && c.Type == "dir" && c.Kind == forkbox.Added
		files = append(files, f)
	}
	return files
}

// refusedAbove is for what lies in a directory that is only there if another
// change is accepted, and that was not.
func refusedAbove(files []*pickFile, f *pickFile) bool {
	for _, dir := range files {
		makes := dir.change.Kind == forkbox.Renamed || dir.change.Kind == forkbox.Type
		if makes && dir.above && !dir.whole() && dir != f && forkbox.Within(f.path, dir.path) {
			return true
		}
	}
	return false
}

// chosen gathers the answers.
func chosen(files []*pickFile) (picked picks) {
	for _, f := range files {
		switch {
		case !f.some():
		case f.whole():
			picked.paths = append(picked.paths, f.path)
		default:
			picked.paths = append(picked.paths, f.path)
			picked.hunks = append(picked.hunks, f.selection())
		}
	}
	return picked
}

// Choose asks which changes land and makes spec exactly those. It is false when
// none was chosen.
func (l *Lander) Choose(ctx context.Context, c *client.Client, ref string, spec *forkbox.ApplySpec) (bool, error) {
	shown, err := l.collect(ctx, c, ref, spec.Selection, spec.Reviewed)
	if err != nil {
		return false, err
	}
	if len(shown) == 0 {
		l.Say("nothing to apply")
		return false, nil
	}
	pick := &picker{in: l.Answers(), out: l.Stderr, colour: terminal.TakesColour(l.Stderr), here: l.Here()}
	picked := pick.run(shown)
	if len(picked.paths) == 0 {
		l.Say("nothing was chosen, and nothing was applied")
		return false, nil
	}
	// These and no others. All stays as it was: patches depend on it.
	spec.Selection = forkbox.Selection{Paths: picked.paths, Exact: true, All: spec.All}
	spec.Hunks = picked.hunks
	spec.Reviewed, err = l.same(ctx, c, ref, spec.Selection, shown)
	return err == nil, err
}

// collect reads all changes with their patches, before anything is asked. Files
// that were moved come as what they are to an apply: one that went and one that
// came.
func (l *Lander) collect(ctx context.Context, c *client.Client, ref string, sel forkbox.Selection, reviewed string) ([]forkbox.Change, error) {
	var changes []forkbox.Change
	var summary forkbox.Summary
	err := l.Patiently(ctx, "comparing", func(ctx context.Context) (err error) {
		spec := forkbox.DiffSpec{Selection: sel, Patch: true, Hash: reviewed != ""}
		summary, err = c.Changes(ctx, ref, spec, func(change forkbox.Change) error {
			changes = append(changes, change)
			return nil
		})
		return err
	})
	if err == nil && summary.Hash != reviewed {
		err = forkbox.Errorf(forkbox.Conflict, "apply box "+ref, "its changes are not those that were reviewed").
			Hint("review them again: forkbox diff --json %s", ref)
	}
	return changes, err
}

// same is the hash of what was chosen, provided that it still is what was
// shown: what you reviewed is what lands.
func (l *Lander) same(ctx context.Context, c *client.Client, ref string, sel forkbox.Selection, shown []forkbox.Change) (string, error) {
	was := map[string]forkbox.Change{}
	for _, change := range shown {
		was[rawPath(change)] = change
	}
	moved := forkbox.Errorf(forkbox.Conflict, "apply box "+ref, "it changed while you were choosing").
		Hint("nothing was applied; choose again")
	var summary forkbox.Summary
	err := l.Patiently(ctx, "checking", func(ctx context.Context) (err error) {
		spec := forkbox.DiffSpec{Selection: sel, Patch: true, Hash: true}
		summary, err = c.Changes(ctx, ref, spec, func(change forkbox.Change) error {
			if !reflect.DeepEqual(change, was[rawPath(change)]) {
				moved.About(rawPath(change), "is not what was shown")
			}
			delete(was, rawPath(change))
			return nil
		})
		return err
	})
	for _, path := range sel.Paths {
		if _, missing := was[path]; missing {
			moved.About(path, "is not changed any more")
		}
	}
	if err == nil && len(moved.Items) > 0 {
		err = moved
	}
	return summary.Hash, err
}
