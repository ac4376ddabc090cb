package change

import (
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// ShowReceipt has the id alone on stdout, for id=$(forkbox apply …).
func (l *Lander) ShowReceipt(ref string, r forkbox.Receipt, spec forkbox.ApplySpec) error {
	switch {
	case l.JSON:
		return l.PrintJSON(r)
	case spec.DryRun:
		return l.showDryRun(ref, r)
	case r.ID == "":
		TellNothing(l.App, ref, r)
		return nil
	}
	if _, err := fmt.Fprintln(l.Stdout, r.ID); err != nil {
		return err
	}
	TellLanded(l.App, r)
	return nil
}

// TellNothing is for an apply that had nothing to land.
func TellNothing(a *app.App, ref string, r forkbox.Receipt) {
	a.Say("nothing to apply")
	tellStayed(a, ref, r)
}

// TellLanded is the rest of a receipt, for people.
func TellLanded(a *app.App, r forkbox.Receipt) {
	line := "landed " + terminal.Plural(r.Paths, "path")
	if r.Merged > 0 {
		line += fmt.Sprintf(", %d merged with what reality did meanwhile", r.Merged)
	}
	if n := partial(r); n > 0 {
		line += fmt.Sprintf(", %d in part", n)
	}
	a.Say("%s   Undo: forkbox undo %s", a.Paint(terminal.Green, line), r.ID)
	if r.Commit != "" {
		a.Say("committed as %s", r.Commit)
	}
	if r.Note != "" {
		a.Say("note: %s", terminal.Printable(r.Note))
	}
	tellStayed(a, r.BoxName, r)
	if partial(r) > 0 {
		a.Say("the other hunks stay in the box: forkbox diff -p %s", r.BoxName)
	}
}

func partial(r forkbox.Receipt) (n int) {
	for _, entry := range r.Entries {
		if entry.Partial {
			n++
		}
	}
	return n
}

// tellStayed is one line on what the apply left in the box, why, and how it
// lands.
func tellStayed(a *app.App, ref string, r forkbox.Receipt) {
	s := r.Stayed
	var parts []string
	if s.Workspace > 0 {
		parts = append(parts, fmt.Sprintf("%s of the workspace not chosen (forkbox apply %s)", terminal.Plural(s.Workspace, "change"), ref))
	}
	var more []string
	if s.System > 0 {
		more = append(more, terminal.Plural(s.System, "change")+" of the system")
	}
	if s.Noise > 0 {
		more = append(more, terminal.Plural(s.Noise, "change")+" in ignored files and caches")
	}
	if len(more) > 0 {
		parts = append(parts, fmt.Sprintf("%s (forkbox apply --all %s)", strings.Join(more, " and "), ref))
	}
	if len(parts) > 0 {
		a.Say("stays in the box: %s", strings.Join(parts, ", "))
	}
}

// showDryRun lists what would land, and what would have to be confirmed.
func (l *Lander) showDryRun(ref string, r forkbox.Receipt) error {
	at := l.Here()
	for _, entry := range r.Entries {
		if _, err := fmt.Fprintln(l.Stdout, landedLine(at, entry)); err != nil {
			return err
		}
	}
	if r.Paths == 0 {
		TellNothing(l.App, ref, r)
		return nil
	}
	if more := r.Paths - len(r.Entries); more > 0 {
		l.Say("and %d more", more)
	}
	l.Say("%s would land; nothing was applied", terminal.Plural(r.Paths, "path"))
	tellStayed(l.App, ref, r)
	if len(r.Cautions) > 0 {
		l.Say("%s", l.Paint(terminal.Yellow, "this deserves a second look, and needs --yes:"))
		l.ListItems(r.Cautions)
	}
	return nil
}

// landedLine is like a line of diff.
func landedLine(at place.Place, entry forkbox.Landed) string {
	line := fmt.Sprintf("%-8s  %s", entry.Kind, terminal.Printable(at.Show(entry.Path)))
	if entry.Below > 0 {
		line += fmt.Sprintf("  (with %s below)", terminal.Plural(entry.Below, "path"))
	}
	if entry.Partial {
		line += "  (some hunks)"
	}
	if entry.Merged {
		line += "  (merged)"
	}
	return line
}
