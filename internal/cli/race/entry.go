package race

import (
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// needsRace refuses an empty name where something is changed: to look, that is
// the newest race, but what comes of an unset variable is not what was meant.
func needsRace(op, ref string) error {
	if ref != "" {
		return nil
	}
	return forkbox.Errorf(forkbox.Invalid, op, "the name of the race is empty").Hint("forkbox race ls lists them")
}

// findEntry is an approach of a race, by its name.
func findEntry(race forkbox.Race, name string) (forkbox.Entry, error) {
	var names []string
	for _, e := range race.Entries {
		if e.Name == name {
			return e, nil
		}
		names = append(names, terminal.Printable(e.Name))
	}
	return forkbox.Entry{}, forkbox.Errorf(forkbox.NotFound, "find approach "+name, "race %s has none of that name", race.Name).
		Hint("it has %s", terminal.CutCells(strings.Join(names, ", "), longestWhy))
}

// entryWithBox is findEntry for what needs the approach's box.
func entryWithBox(race forkbox.Race, name string) (forkbox.Entry, error) {
	entry, err := findEntry(race, name)
	if err == nil && entry.Box == "" {
		err = forkbox.Errorf(forkbox.NotFound, "look at approach "+name, "it has no box%s", terminal.Because(entry.Why))
	}
	return entry, err
}

// boxRef is the box as the steps left it. While what judges them runs, that is
// not what the box has now.
func boxRef(e forkbox.Entry) string {
	if e.Phase != forkbox.PhaseDone && e.Saved != "" {
		return e.Box + "@" + e.Saved
	}
	return e.Box
}

// orGone says of a box that is not there whose it was, and what is left of it.
func orGone(err error, race forkbox.Race) error {
	return app.Advise(err, forkbox.NotFound, "race log", "the boxes of a race can go before it does; what they printed is kept: forkbox race log %s APPROACH", race.Name)
}
