// Package change has the verbs that review what a box changed, land it and take
// that back.
package change

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func DiffVerb(a *app.App) *cobra.Command {
	d := &Differ{App: a}
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
		Args:              app.Needs(1, "a box: forkbox diff BOX [PATH…]"),
		ValidArgsFunction: a.CompleteDiff,
		RunE:              func(cmd *cobra.Command, args []string) error { return d.start(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.BoolVarP(&d.Patch, "patch", "p", false, "a patch in git's format")
	flags.BoolVar(&d.Stat, "stat", false, "lines added and removed per path")
	flags.BoolVar(&d.NameOnly, "name-only", false, "paths only")
	flags.BoolVarP(&d.Nul, "null", "z", false, "with --name-only: end names with NUL, quote nothing")
	flags.BoolVar(&d.All, "all", false, "system and noise too")
	flags.StringVar(&d.Against, "against", "", "compare with this `box`, or BOX@SNAPSHOT, not with reality")
	flags.BoolVar(&d.NoPager, "no-pager", false, "no pager")
	flags.BoolVar(&d.Raw, "raw", false, "with -p: also to a terminal as in a pipe, control sequences and all")
	cmd.MarkFlagsMutuallyExclusive("name-only", "stat", "patch")
	cmd.RegisterFlagCompletionFunc("against", a.CompleteRefs(0))
	return cmd
}

type Differ struct {
	*app.App
	Patch, Stat, NameOnly, Nul, All, NoPager, Raw bool

	Against string
	at      place.Place
}

// listing writes changes in one of the forms that diff has.
type listing interface {
	add(forkbox.Change) error
	end(forkbox.Summary) error
}

// Run prints changes as they arrive: there may be millions.
func (d *Differ) Run(ctx context.Context, ref string, args []string) error {
	d.at = d.Here()
	c := d.Client()
	spec, err := d.spec(args, place.ChangedIn(ctx, c, ref))
	if err != nil {
		return err
	}
	stopProgress := sync.OnceFunc(d.Progress("comparing"))
	page := d.Page(d.NoPager || d.JSON)
	page.Begin = stopProgress
	out := bufio.NewWriterSize(page, 64<<10)
	list := d.listing(out)
	summary, err := c.Changes(ctx, ref, spec, list.add)
	if err == nil {
		err = list.end(summary)
	}
	if err == nil || !d.JSON { // half a document is none; half a list is of use
		err = errors.Join(err, out.Flush())
	}
	stopProgress()
	page.Close()
	if err == nil && !d.JSON {
		d.tellRest(spec, summary)
	}
	return terminal.UnlessSeen(err)
}

func (d *Differ) spec(args []string, changed place.Changed) (spec forkbox.DiffSpec, err error) {
	if d.Nul && !d.NameOnly {
		return spec, errors.New("-z needs --name-only")
	}
	spec = forkbox.DiffSpec{Against: d.Against, Patch: d.Patch, Stat: d.Stat, Hash: d.JSON}
	// In a patch a moved file is one that goes and one that comes, and so it is
	// where lines are counted.
	spec.Renames = true
	spec.All = d.All
	spec.Paths, err = d.at.PathsIn(args, changed)
	return spec, err
}

func (d *Differ) listing(out *bufio.Writer) listing {
	switch {
	case d.JSON:
		return &jsonList{out: out}
	case d.NameOnly:
		return &nameList{out: out, at: d.at, nul: d.Nul}
	case d.Stat:
		return newStatTable(out, d.Stdout, d.at)
	case d.Patch:
		return &patchList{out: out, at: d.at, colour: terminal.TakesColour(d.Stdout) && !d.Raw, terminal: terminal.IsTerminal(d.Stdout) && !d.Raw}
	}
	return &changeList{out: out, tty: d.Stdout, at: d.at}
}

// tellRest says on stderr what was not listed: nothing is hidden silently, and
// nothing gets into a pipe.
func (d *Differ) tellRest(spec forkbox.DiffSpec, s forkbox.Summary) {
	if s.RenamesSkipped {
		d.Say("note: there are too many changes to look for moved files")
	}
	for _, dir := range s.Unshown {
		d.Say("warning: %s", unshownIn(dir))
	}
	for _, line := range restLines(spec, s) {
		d.Say("%s", line)
	}
}

// unshownIn is what to know of a directory that a box has changes over and does not show.
func unshownIn(dir string) string {
	dir = terminal.Printable(dir)
	return fmt.Sprintf("what the box changed over %s is neither shown in it nor all listed: something was mounted or unmounted below since; put that back to see it", dir)
}

func restLines(spec forkbox.DiffSpec, s forkbox.Summary) []string {
	listed := s.Total
	everything := s.Workspace.Total + s.System.Total + s.Noise.Total
	switch {
	case spec.All && len(spec.Paths) == 0:
		return nothingAtAll(listed)
	case len(spec.Paths) > 0:
		if everything > listed {
			return append(nothingAtAll(listed), wholeBox(s))
		}
		return nothingAtAll(listed)
	}
	var parts []string
	if s.System.Total > 0 {
		parts = append(parts, "system: "+terminal.Plural(s.System.Total, "change")+describe.InBrackets(s.Packages))
	}
	if s.Noise.Total > 0 {
		parts = append(parts, "noise: "+terminal.Plural(s.Noise.Total, "change"))
	}
	if len(parts) == 0 {
		return nothingAtAll(listed)
	}
	shows := "--all shows them"
	if s.System.Total+s.Noise.Total == 1 {
		shows = "--all shows it"
	}
	line := strings.Join(append(parts, shows), "   ")
	if listed == 0 {
		return []string{"nothing changed in the workspace", line}
	}
	return []string{line}
}

func nothingAtAll(listed int) []string {
	if listed == 0 {
		return []string{"nothing changed"}
	}
	return nil
}

// wholeBox is for a list of some paths only.
func wholeBox(s forkbox.Summary) string {
	return fmt.Sprintf("in the whole box: %s in the workspace, %d in the system, %d noise",
		terminal.Plural(s.Workspace.Total, "change"), s.System.Total, s.Noise.Total)
}

// start tells a second side from the first path.
func (d *Differ) start(ctx context.Context, args []string) error {
	ref, rest := args[0], args[1:]
	if len(rest) > 0 && (app.NamesSnapshot(rest[0]) || d.namesBox(ctx, rest[0])) {
		if d.Against != "" {
			return errors.New("--against and a second box exclude each other")
		}
		// It reads from the first to the second: the second is what is looked at.
		d.Against, ref, rest = ref, rest[0], rest[1:]
	}
	return d.Run(ctx, ref, rest)
}

// namesBox says whether an argument is the name of a box, and of nothing here.
func (d *Differ) namesBox(ctx context.Context, arg string) bool {
	if arg == "" || strings.Trim(arg, app.BoxLetters) != "" {
		return false
	}
	if _, err := os.Lstat(arg); err == nil {
		return false
	}
	box, err := d.Client().Box(ctx, arg)
	return err == nil && (box.Name == arg || box.ID == arg)
}
