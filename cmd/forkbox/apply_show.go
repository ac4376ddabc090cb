package main

import (
	"fmt"

	"github.com/forkbox/forkbox"
)

// showReceipt has the id alone on stdout, for id=$(forkbox apply …).
func (l *lander) showReceipt(ref string, r forkbox.Receipt, spec forkbox.ApplySpec) error {
	switch {
	case l.json:
		return l.printJSON(r)
	case spec.DryRun:
		return l.showDryRun(r)
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
	if r.Left > 0 {
		a.say("%s in the box: forkbox diff --all %s", stay(r.Left), ref)
	}
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
	if r.Left > 0 {
		a.say("%s in the box: forkbox diff %s", stay(r.Left), r.BoxName)
	} else if partial(r) > 0 {
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

func stay(n int) string {
	if n == 1 {
		return "1 change stays"
	}
	return fmt.Sprintf("%d changes stay", n)
}

// showDryRun lists what would land, and what would have to be confirmed.
func (l *lander) showDryRun(r forkbox.Receipt) error {
	at := here()
	for _, entry := range r.Entries {
		if _, err := fmt.Fprintln(l.stdout, landedLine(at, entry)); err != nil {
			return err
		}
	}
	if r.Paths == 0 {
		l.say("nothing to apply")
		return nil
	}
	if more := r.Paths - len(r.Entries); more > 0 {
		l.say("and %d more", more)
	}
	l.say("%s would land; nothing was applied", plural(r.Paths, "path"))
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
