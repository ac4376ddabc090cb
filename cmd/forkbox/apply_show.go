package main

import (
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
)

// showReceipt has the id alone on stdout, for id=$(forkbox apply …).
func (l *lander) showReceipt(ref string, r forkbox.Receipt, spec forkbox.ApplySpec) error {
	switch {
	case l.json:
		return l.printJSON(r)
	case spec.DryRun:
		return l.showDryRun(ref, r)
	case r.ID == "":
		l.tellNothing(ref, r)
		return nil
	}
	if _, err := fmt.Fprintln(l.stdout, r.ID); err != nil {
		return err
	}
	l.tellLanded(r)
	return nil
}

// tellNothing is for an apply that had nothing to land.
func (a *app) tellNothing(ref string, r forkbox.Receipt) {
	a.say("nothing to apply")
	a.tellStayed(ref, r)
}

// tellLanded is the rest of a receipt, for people.
func (a *app) tellLanded(r forkbox.Receipt) {
	line := "landed " + plural(r.Paths, "path")
	if r.Merged > 0 {
		line += fmt.Sprintf(", %d merged with what reality did meanwhile", r.Merged)
	}
	if n := partial(r); n > 0 {
		line += fmt.Sprintf(", %d in part", n)
	}
	a.say("%s   Undo: forkbox undo %s", a.paint(green, line), r.ID)
	if r.Commit != "" {
		a.say("committed as %s", r.Commit)
	}
	if r.Note != "" {
		a.say("note: %s", printable(r.Note))
	}
	a.tellStayed(r.BoxName, r)
	if partial(r) > 0 {
		a.say("the other hunks stay in the box: forkbox diff -p %s", r.BoxName)
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
func (a *app) tellStayed(ref string, r forkbox.Receipt) {
	s := r.Stayed
	var parts []string
	if s.Workspace > 0 {
		parts = append(parts, fmt.Sprintf("%s of the workspace not chosen (forkbox apply %s)", plural(s.Workspace, "change"), ref))
	}
	var more []string
	if s.System > 0 {
		more = append(more, plural(s.System, "change")+" of the system")
	}
	if s.Noise > 0 {
		more = append(more, plural(s.Noise, "change")+" in ignored files and caches")
	}
	if len(more) > 0 {
		parts = append(parts, fmt.Sprintf("%s (forkbox apply --all %s)", strings.Join(more, " and "), ref))
	}
	if len(parts) > 0 {
		a.say("stays in the box: %s", strings.Join(parts, ", "))
	}
}

// showDryRun lists what would land, and what would have to be confirmed.
func (l *lander) showDryRun(ref string, r forkbox.Receipt) error {
	at := here()
	for _, entry := range r.Entries {
		if _, err := fmt.Fprintln(l.stdout, landedLine(at, entry)); err != nil {
			return err
		}
	}
	if r.Paths == 0 {
		l.tellNothing(ref, r)
		return nil
	}
	if more := r.Paths - len(r.Entries); more > 0 {
		l.say("and %d more", more)
	}
	l.say("%s would land; nothing was applied", plural(r.Paths, "path"))
	l.tellStayed(ref, r)
	if len(r.Cautions) > 0 {
		l.say("%s", l.paint(yellow, "this deserves a second look, and needs --yes:"))
		l.listItems(r.Cautions)
	}
	return nil
}

// landedLine is like a line of diff.
func landedLine(at place, entry forkbox.Landed) string {
	line := fmt.Sprintf("%-8s  %s", entry.Kind, printable(at.show(entry.Path)))
	if entry.Below > 0 {
		line += fmt.Sprintf("  (with %s below)", plural(entry.Below, "path"))
	}
	if entry.Partial {
		line += "  (some hunks)"
	}
	if entry.Merged {
		line += "  (merged)"
	}
	return line
}
