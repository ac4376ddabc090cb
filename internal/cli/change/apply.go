package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/review/patch"
	"github.com/spf13/cobra"
)

func ApplyVerb(a *app.App) *cobra.Command {
	l := &Lander{App: a}
	cmd := &cobra.Command{
		Use:   "apply [-i] [--hunks FILE:N,…]… [--all] [--dry-run] [--commit [--hooks]] [-m M] [-y] BOX [PATH…]",
		Short: "Land what a box changed in reality, whole or not at all",
		Long: `Land the changes of a box in reality: all of them or, when anything stands in the
way, none. The id of the receipt is on stdout; forkbox undo takes it back. What
does not land stays in the box.

Without PATH the workspace lands: the git work tree, or directory, the box was
made in. PATH is relative to the current directory or absolute. --all is system
and noise too. --hunks lands some hunks of a file, numbered as forkbox diff -p
shows them. -i asks hunk by hunk, as git add -p does.

What deserves a second look (setuid, git hooks, shell profiles, cron, …; deletions
outside the workspace, of large directories or many files; any change in /etc, /usr,
/boot, /lib, or outside the workspace of what a package owns) is named, and needs a
yes: at the terminal, or with --yes. Packages are those of dpkg and apk, not of rpm.

Where reality changed the same file since the fork, both are merged. Where that
conflicts nothing lands, unless --conflict says what does: theirs is the box's
version, ours is reality's, markers is both, between git's markers. A file that
still has the markers of a sync is no version of the box's: it lands when they are
settled, or by its own name with --yes.

--reviewed takes the hash of forkbox diff --json and refuses when the box has
changed since. --commit makes a git commit of what landed and of nothing else;
git config has its policy: forkbox.author, forkbox.coAuthor (any number) and
forkbox.commitTemplate with {message}, {box}, {receipt} and {count}. The hooks
and filters of the repository do not run, for they can run what the box wrote;
with --hooks they do.`,
		Example: `  forkbox apply try
  forkbox apply try src/ README.md
  forkbox apply --hunks main.go:1,3 try
  forkbox apply -i try
  forkbox apply --commit -m 'Update dependencies' try
  id=$(forkbox apply --yes try) && make test || forkbox undo $id`,
		Args:              app.Needs(1, "a box: forkbox apply BOX [PATH…]"),
		ValidArgsFunction: a.CompleteBoxThenPaths,
		RunE:              func(cmd *cobra.Command, args []string) error { return l.run(cmd.Context(), args[0], args[1:]) },
	}
	l.Add(cmd)
	return cmd
}

// Lander carries changes to reality.
type Lander struct {
	*app.App
	hunks       []string
	Interactive bool
	AfterRun    bool // run lands, which has no flags of apply
	conflict    string
	Spec        forkbox.ApplySpec
	changed     place.Changed // tells what a path means that can mean two things
}

func (l *Lander) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&l.Spec.All, "all", false, "system and noise too")
	flags.StringArrayVar(&l.hunks, "hunks", nil, "only these hunks: `FILE:1,3-5` (repeatable)")
	flags.BoolVarP(&l.Interactive, "interactive", "i", false, "ask hunk by hunk")
	flags.BoolVar(&l.Spec.DryRun, "dry-run", false, "say what would land, and land nothing")
	flags.StringVarP(&l.Spec.Message, "message", "m", "", "what the receipt, and the commit, say")
	flags.BoolVar(&l.Spec.Commit, "commit", false, "make a git commit of what lands")
	flags.BoolVar(&l.Spec.Hooks, "hooks", false, "with --commit: run the repository's hooks and filters")
	flags.StringVar(&l.Spec.Reviewed, "reviewed", "", "refuse unless the changes have this `hash`")
	flags.StringVar(&l.conflict, "conflict", "", "where both changed the same: theirs, ours or markers")
	flags.BoolVarP(&l.Spec.Yes, "yes", "y", false, "yes to every question")
	cmd.MarkFlagsMutuallyExclusive("interactive", "hunks")
	cmd.RegisterFlagCompletionFunc("conflict", cobra.FixedCompletions([]string{"theirs", "ours", "markers"}, cobra.ShellCompDirectiveNoFileComp))
}

func (l *Lander) run(ctx context.Context, ref string, args []string) error {
	c := l.Client()
	defer c.Close()
	l.changed = place.ChangedIn(ctx, c, ref)
	spec, err := l.Parse(l.Here(), args)
	if err != nil {
		return err
	}
	if l.Interactive {
		some, err := l.Choose(ctx, c, ref, &spec)
		if err != nil || !some {
			return err
		}
	}
	receipt, err := l.Land(ctx, c, ref, spec)
	if err != nil {
		return err
	}
	return l.ShowReceipt(ref, receipt, spec)
}

// Parse is the command line as a request.
func (l *Lander) Parse(at place.Place, args []string) (spec forkbox.ApplySpec, err error) {
	spec = l.Spec
	if spec.Conflict, err = parseConflict(l.conflict); err != nil {
		return spec, err
	}
	if l.JSON && l.Interactive {
		return spec, errors.New("-i and --json exclude each other")
	}
	if spec.Paths, err = at.PathsIn(args, l.changed); err != nil {
		return spec, err
	}
	// Without a path the workspace would be meant, not only these hunks.
	spec.Exact = len(args) == 0 && len(l.hunks) > 0
	for _, arg := range l.hunks {
		selection, err := parseHunks(at, l.changed, arg)
		if err != nil {
			return spec, err
		}
		addHunks(&spec, selection)
	}
	return spec, nil
}

// addHunks takes --hunks f:1 --hunks f:3 for --hunks f:1,3.
func addHunks(spec *forkbox.ApplySpec, more forkbox.HunkSelection) {
	path := selectedPath(more)
	for i, have := range spec.Hunks {
		if selectedPath(have) == path {
			spec.Hunks[i].Hunks = append(have.Hunks, more.Hunks...)
			return
		}
	}
	spec.Hunks = append(spec.Hunks, more)
	spec.Paths = append(spec.Paths, path)
}

func parseConflict(word string) (forkbox.ConflictChoice, error) {
	switch choice := forkbox.ConflictChoice(word); choice {
	case forkbox.Refuse, forkbox.Theirs, forkbox.Ours, forkbox.Markers:
		return choice, nil
	}
	return "", fmt.Errorf("--conflict is theirs, ours or markers, not %q", word)
}

func parseHunks(at place.Place, changed place.Changed, arg string) (forkbox.HunkSelection, error) {
	file, numbers, err := patch.ParseSelection(arg)
	if err != nil {
		return forkbox.HunkSelection{}, err
	}
	path, err := at.PathIn(file, changed)
	if err != nil {
		return forkbox.HunkSelection{}, err
	}
	return selectHunks(path, numbers), nil
}

// Land asks for a second look where one is needed and a user is there.
func (l *Lander) Land(ctx context.Context, c *client.Client, ref string, spec forkbox.ApplySpec) (forkbox.Receipt, error) {
	receipt, err := l.try(ctx, c, ref, spec)
	var e *forkbox.Error
	if errors.As(err, &e) && e.Code == forkbox.Unconfirmed && l.CanAsk() {
		l.Say("%s", l.Paint(terminal.Yellow, "this deserves a second look:"))
		l.ListItems(e.Items)
		if !l.Agree("apply?") {
			l.Say("nothing was applied")
			return receipt, terminal.ExitStatus(e.Code.ExitCode())
		}
		spec.Yes = true
		if e.Hash != "" { // what was looked at, and nothing else
			spec.Reviewed = e.Hash
		}
		receipt, err = l.try(ctx, c, ref, spec)
	}
	accept := "the same with --yes" // and the same paths
	if l.AfterRun {
		accept = "forkbox apply --yes " + ref
	}
	err = app.Advise(err, forkbox.Unconfirmed, "--yes", "look at it: forkbox diff -p %s   accept it: %s", ref, accept)
	return receipt, l.adviseConflict(err, ref, spec)
}

func (l *Lander) try(ctx context.Context, c *client.Client, ref string, spec forkbox.ApplySpec) (receipt forkbox.Receipt, err error) {
	err = l.Patiently(ctx, "applying "+ref, func(ctx context.Context) error {
		receipt, err = c.Apply(ctx, ref, spec)
		return err
	})
	if err == terminal.Interrupted {
		l.Say("interrupted; whether it landed is in: forkbox receipts")
	}
	return receipt, err
}

// adviseConflict is for conflicts that the daemon met only when it landed: of
// others it says itself what settles them.
func (l *Lander) adviseConflict(err error, ref string, spec forkbox.ApplySpec) error {
	var e *forkbox.Error
	if !errors.As(err, &e) || len(e.Items) == 0 || len(e.Hints) > 0 || spec.Conflict != forkbox.Refuse {
		return err
	}
	err = app.Advise(err, forkbox.Conflict, "sync", "merge in the box first: forkbox sync %s", ref)
	return app.Advise(err, forkbox.Conflict, "--conflict", "or say which version lands: --conflict=theirs (the box's), ours (reality's) or markers")
}
