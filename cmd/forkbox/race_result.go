package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/forkbox/forkbox"
)

// nobodyWon is what a race exits with in which nobody did, as a failed test
// does.
const nobodyWon = exitStatus(1)

// raceExit says whether somebody won. A race that could not be run is an error
// of its own.
func (a *app) raceExit(race forkbox.Race) error {
	switch {
	case race.State == forkbox.RaceFailed:
		return a.raceFailure(race)
	case race.Winner == "":
		return nobodyWon
	}
	return nil
}

// raceFailure is why a race could not be run: a sentence, and below it what was
// printed, which is told first. Programs get all of it in one.
func (a *app) raceFailure(race forkbox.Race) error {
	why, printed := race.Why, []string{}
	if !a.json {
		lines := strings.Split(race.Why, "\n")
		why, printed = strings.TrimSuffix(lines[0], ":"), lines[1:]
	}
	for _, line := range printed {
		a.say("  %s", cutCells(printable(line), longestWhy))
	}
	op, rest, ok := strings.Cut(strings.TrimPrefix(why, "cannot "), ": ")
	if !ok || !strings.HasPrefix(why, "cannot ") {
		op, rest = "run race "+race.Name, orWord(why, "it failed")
	}
	return forkbox.Errorf(forkbox.Invalid, op, "%s", rest)
}

// showResult has all that stays on stdout, and what can be done next on stderr.
// With --json the last event was all of it.
func (a *app) showResult(race forkbox.Race) error {
	err := a.printResult(race)
	if err == nil {
		a.sayNext(race)
	}
	return err
}

func (a *app) printResult(race forkbox.Race) error {
	if a.json || race.State == forkbox.RaceFailed {
		return nil
	}
	return forkbox.Wrap("print", writeRaceResult(a.stdout, race))
}

// writeRaceResult is the table, and what it cannot say.
func writeRaceResult(w io.Writer, race forkbox.Race) error {
	fmt.Fprintf(w, "race %s: %s\n", printable(race.Name), raceStateText(race))
	if race.State != forkbox.RaceFailed { // then no approach has begun
		fmt.Fprintln(w)
		if err := writeRaceTable(w, race); err != nil {
			return err
		}
	}
	for _, part := range [][]string{{printable(race.Verdict)}, raceReasons(race), raceRisks(race), raceNotes(race)} {
		if text := strings.Join(part, "\n"); text != "" {
			fmt.Fprintf(w, "\n%s\n", text)
		}
	}
	return nil
}

func raceStateText(race forkbox.Race) string {
	text := string(race.State) + ", " + countApproaches(len(race.Entries))
	if !race.Ended.IsZero() {
		text += ", " + raceSpan(race.Ended.Sub(race.Created))
	}
	if race.Resumed > 0 {
		text += ", through " + plural(race.Resumed+1, "daemon")
	}
	if race.State == forkbox.RaceCancelled || race.Why == "" {
		return text
	}
	var lines []string
	for _, line := range strings.Split(race.Why, "\n") {
		lines = append(lines, cutCells(printable(line), longestWhy))
	}
	return text + ": " + strings.Join(lines, "\n  ")
}

// raceReasons is a line for each that did not win and says why, and one for each
// flaky check.
func raceReasons(race forkbox.Race) (lines []string) {
	for _, e := range race.Entries {
		why := e.Why
		if e.Outcome == forkbox.OutcomePassed || why == "" {
			why = e.Reason
		}
		if why != "" && e.Name != race.Winner && (race.State == forkbox.RaceFinished || e.Outcome != forkbox.OutcomeCancelled) {
			lines = append(lines, printable(e.Name)+": "+cutCells(printable(why), longestWhy))
		}
		for _, c := range e.Checks {
			if c.Flaky {
				lines = append(lines, fmt.Sprintf("%s: check %s is flaky: it passed %s", printable(e.Name), shortCommand(c.Name), passedOf(c)))
			}
		}
		for _, m := range e.Metrics {
			if m.Why != "" {
				lines = append(lines, fmt.Sprintf("%s: %s: %s", printable(e.Name), shortCommand(m.Name), cutCells(printable(m.Why), longestWhy)))
			}
		}
	}
	return lines
}

// longestWhy is as much of a reason as is read; race show --json has all of it.
const longestWhy = 400

// shownRisks is how many risks of an approach are listed.
const shownRisks = 10

// raceRisks is what deserves a look before it lands.
func raceRisks(race forkbox.Race) (lines []string) {
	at := here()
	for _, e := range race.Entries {
		for i, risk := range e.Risks {
			if i == shownRisks {
				lines = append(lines, fmt.Sprintf("  %s: and %d more", printable(e.Name), len(e.Risks)-i))
				break
			}
			line := fmt.Sprintf("  %s: %s", printable(e.Name), printable(risk.Why))
			if risk.Path != "" {
				line = fmt.Sprintf("  %s: %s: %s", printable(e.Name), printable(at.show(risk.Path)), printable(risk.Why))
			}
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		lines = append([]string{"risks:"}, lines...)
	}
	return lines
}

func raceNotes(race forkbox.Race) (lines []string) {
	for _, note := range race.Notes {
		lines = append(lines, "note: "+printable(note))
	}
	if race.Landed != "" {
		lines = append(lines, fmt.Sprintf("%s has landed. Undo: forkbox undo %s", printable(race.Landed), race.Receipt))
	}
	return lines
}

// sayNext is what to do about it.
func (a *app) sayNext(race forkbox.Race) {
	name := printable(race.Name)
	switch {
	case a.json || race.State == forkbox.RaceFailed:
	case race.State == forkbox.RaceRunning:
		a.say("watch it: forkbox race watch %s   end it: forkbox race cancel %s", name, name)
	case race.Winner != "" && race.Landed == "":
		a.say("look: forkbox race diff %s %s   land it: forkbox race apply %s", name, printable(race.Winner), name)
	case race.Winner == "" && len(race.Entries) > 0:
		a.say("look: forkbox race log %s %s   again: forkbox race rerun %s", name, printable(race.Entries[0].Name), name)
	}
}
