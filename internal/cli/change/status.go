package change

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func StatusVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status BOX",
		Short: "Show how far a box and reality have moved apart",
		Long: `Show how old a box's view of reality is, what the box changed, and what reality
changed since: the paths that both changed are named, with what an apply would
make of them. merges: both changes fit together. conflict: apply refuses until
somebody decides. same: both did the same.`,
		Example:           "  forkbox status try\n  forkbox status try --json | jq '.drift[] | select(.both)'",
		Args:              app.Exactly(1, "a box: forkbox status BOX"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return status(cmd.Context(), a, args[0]) },
	}
}

// shownStatus is the document of status --json.
type shownStatus struct {
	forkbox.BoxStatus
	Summary forkbox.Summary `json:"summary"`
}

func status(ctx context.Context, a *app.App, ref string) error {
	c := a.Client()
	defer c.Close()
	var s shownStatus
	err := a.Patiently(ctx, "looking at "+ref, func(ctx context.Context) (err error) {
		if s.BoxStatus, err = c.Status(ctx, ref); err != nil {
			return err
		}
		s.Summary, err = c.Changes(ctx, s.Box.ID, forkbox.DiffSpec{}, func(forkbox.Change) error { return nil })
		return err
	})
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(s)
	}
	if err := a.Table("", func(w io.Writer) { writeStatus(w, s) }); err != nil {
		return err
	}
	if err := a.Table("", func(w io.Writer) { writeDrift(w, a.Here(), s) }); err != nil {
		return err
	}
	adviseStatus(a, s)
	return nil
}

func writeStatus(w io.Writer, s shownStatus) {
	rows := [][2]string{
		{"box", s.Box.Name + ", " + describe.State(s.Box)},
		beginning(s.BoxStatus),
		{"workspace", describe.CountByKind(s.Summary.Workspace) + " in " + terminal.Printable(s.Root)},
		{"system", describe.CountByKind(s.Summary.System) + describe.InBrackets(s.Summary.Packages)},
		{"noise", noiseText(s.Summary.Noise)},
		{"reality", driftText(s.BoxStatus)},
	}
	if s.Box.Stale != nil {
		rows = append(rows, [2]string{"stale", describe.Stale(s.Box)})
	}
	for _, dir := range s.Summary.Unshown {
		rows = append(rows, [2]string{"warning", unshownIn(dir)})
	}
	for _, service := range s.Box.Services {
		if service.Taken != nil {
			rows = append(rows, [2]string{"service", terminal.Printable(service.Name) + " began with the data of " + terminal.Ago(*service.Taken)})
		}
	}
	for _, row := range rows {
		fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
	}
}

// beginning says what a box began as, and when.
func beginning(s forkbox.BoxStatus) [2]string {
	at := func(t time.Time) string {
		return fmt.Sprintf("%s (%s)", terminal.Ago(t), t.Local().Format("2006-01-02 15:04:05"))
	}
	switch {
	case !s.Box.Base.IsReality():
		return [2]string{"made of", terminal.Printable(strings.TrimSuffix(s.Box.Base.Kind+":"+s.Box.Base.Name, ":")) + ", " + at(s.Box.Created)}
	case s.Fence.IsZero():
		return [2]string{"imported", at(s.Box.Created)}
	}
	return [2]string{"forked", at(s.Fence)}
}

func noiseText(c forkbox.Count) string {
	if c.Total == 0 {
		return "nothing changed"
	}
	return terminal.Plural(c.Total, "change")
}

func driftText(s forkbox.BoxStatus) string {
	switch {
	case !s.Box.Base.IsReality():
		return "is not what this box was made of"
	case s.Fence.IsZero() && s.Behind == 0:
		return "has what the changes were made on"
	case s.Fence.IsZero():
		return "is not known to have what the changes were made on at " + terminal.Plural(s.Behind, "path")
	case s.Behind == 0:
		return "has not changed since"
	case s.Both == 0:
		return "changed " + terminal.Plural(s.Behind, "path") + " since, none that the box changed"
	}
	return fmt.Sprintf("changed %s since, %d of them in the box too", terminal.Plural(s.Behind, "path"), s.Both)
}

// writeDrift has what both changed first: that is what the user has to look at.
func writeDrift(w io.Writer, at place.Place, s shownStatus) {
	for _, both := range []bool{true, false} {
		for _, drift := range s.Drift {
			if drift.Both == both {
				fmt.Fprintf(w, "  %s\t%s%s\n", outcomeText(drift), terminal.Printable(at.Show(drift.Path)), terminal.Because(terminal.Printable(drift.Why)))
			}
		}
	}
	if s.Partial {
		fmt.Fprintf(w, "  and more\n")
	}
}

func outcomeText(d forkbox.Drift) string {
	switch {
	case !d.Both:
		return "reality"
	case d.Outcome == "clean":
		return "merges"
	case d.Outcome == "":
		return "both"
	}
	return d.Outcome
}

func adviseStatus(a *app.App, s shownStatus) {
	conflicts, undecided, open := 0, 0, slices.Sorted(slices.Values(s.Box.Unresolved))
	for _, drift := range s.Drift {
		if drift.Outcome == "conflict" {
			conflicts++
			if _, found := slices.BinarySearch(open, drift.Path); found {
				undecided++
			}
		}
	}
	switch {
	case conflicts > 0 && conflicts == undecided: // another sync would say the same
		a.Say("apply refuses %s, which a sync left undecided. Settle markers in the box: forkbox shell %s", terminal.Plural(conflicts, "path"), s.Box.Name)
		a.Say("Decide the rest: %s", decideText(s.Box.Name))
	case conflicts > 0:
		a.Say("apply refuses %s. Merge in the box: forkbox sync %s", terminal.Plural(conflicts, "path"), s.Box.Name)
	case s.Both > 0:
		a.Say("apply merges them. To see the result in the box first: forkbox sync %s", s.Box.Name)
	case s.Behind > 0:
		a.Say("To bring reality's changes into the box: forkbox sync %s", s.Box.Name)
	}
}
