package race

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// nobodyWon is what a race exits with that no approach won, as a failed test
// does.
const nobodyWon = terminal.ExitStatus(1)

// raceExit says whether an approach won. A race that could not be run is an
// error of its own.
func raceExit(a *app.App, race forkbox.Race) error {
	switch {
	case race.State == forkbox.RaceFailed:
		return raceFailure(a, race)
	case race.Winner == "":
		return nobodyWon
	}
	return nil
}

// raceFailure is why a race could not be run: a sentence, and below it what was
// printed, which is told first. Programs get all of it in one.
func raceFailure(a *app.App, race forkbox.Race) error {
	why, printed := race.Why, []string{}
	if !a.JSON {
		lines := strings.Split(race.Why, "\n")
		why, printed = strings.TrimSuffix(lines[0], ":"), lines[1:]
	}
	for _, line := range printed {
		a.Say("  %s", terminal.CutCells(terminal.Printable(line), longestWhy))
	}
	op, rest, ok := strings.Cut(strings.TrimPrefix(why, "cannot "), ": ")
	if !ok || !strings.HasPrefix(why, "cannot ") {
		op, rest = "run race "+race.Name, terminal.OrWord(why, "it failed")
	}
	return forkbox.Errorf(forkbox.Invalid, op, "%s", rest)
}

// showResult has all that stays on stdout, and what can be done next on stderr.
// With --json the last event was all of it.
func showResult(a *app.App, race forkbox.Race) error {
	err := printResult(a, race)
	if err == nil {
		sayNext(a, race)
	}
	return err
}

func printResult(a *app.App, race forkbox.Race) error {
	if a.JSON || race.State == forkbox.RaceFailed {
		return nil
	}
	return forkbox.Wrap("print", writeRaceResult(a.Stdout, race))
}

// writeRaceResult is the table, and what it cannot say.
func writeRaceResult(w io.Writer, race forkbox.Race) error {
	fmt.Fprintf(w, "race %s: %s\n", terminal.Printable(race.Name), raceStateText(race))
	if race.State != forkbox.RaceFailed { // then no approach has begun
		fmt.Fprintln(w)
		if err := writeRaceTable(w, race); err != nil {
			return err
		}
	}
	for _, part := range [][]string{{terminal.Printable(race.Verdict)}, raceReasons(race), raceRisks(race), raceNotes(race)} {
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
		text += ", through " + terminal.Plural(race.Resumed+1, "daemon")
	}
	if race.State == forkbox.RaceCancelled || race.Why == "" {
		return text
	}
	var lines []string
	for _, line := range strings.Split(race.Why, "\n") {
		lines = append(lines, terminal.CutCells(terminal.Printable(line), longestWhy))
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
			lines = append(lines, terminal.Printable(e.Name)+": "+terminal.CutCells(terminal.Printable(why), longestWhy))
		}
		for _, c := range e.Checks {
			if c.Flaky {
				lines = append(lines, fmt.Sprintf("%s: check %s is flaky: it passed %s", terminal.Printable(e.Name), shortCommand(c.Name), passedOf(c)))
			}
		}
		for _, m := range e.Metrics {
			if m.Why != "" {
				lines = append(lines, fmt.Sprintf("%s: %s: %s", terminal.Printable(e.Name), shortCommand(m.Name), terminal.CutCells(terminal.Printable(m.Why), longestWhy)))
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
	at := place.Here()
	for _, e := range race.Entries {
		for i, risk := range e.Risks {
			if i == shownRisks {
				lines = append(lines, fmt.Sprintf("  %s: and %d more", terminal.Printable(e.Name), len(e.Risks)-i))
				break
			}
			line := fmt.Sprintf("  %s: %s", terminal.Printable(e.Name), terminal.Printable(risk.Why))
			if risk.Path != "" {
				line = fmt.Sprintf("  %s: %s: %s", terminal.Printable(e.Name), terminal.Printable(at.Show(risk.Path)), terminal.Printable(risk.Why))
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
		lines = append(lines, "note: "+terminal.Printable(note))
	}
	if race.Landed != "" {
		lines = append(lines, fmt.Sprintf("%s has landed. Undo: forkbox undo %s", terminal.Printable(race.Landed), race.Receipt))
	}
	return lines
}

// sayNext is what to do about it.
func sayNext(a *app.App, race forkbox.Race) {
	name := terminal.Printable(race.Name)
	switch {
	case a.JSON || race.State == forkbox.RaceFailed:
	case race.State == forkbox.RaceRunning:
		a.Say("watch it: forkbox race watch %s   end it: forkbox race cancel %s", name, name)
	case race.Winner != "" && race.Landed == "":
		a.Say("look: forkbox race diff %s %s   land it: forkbox race apply %s", name, terminal.Printable(race.Winner), name)
	case race.Winner == "" && len(race.Entries) > 0:
		a.Say("look: forkbox race log %s %s   again: forkbox race rerun %s", name, terminal.Printable(race.Entries[0].Name), name)
	}
}

// printRaceJSON is printJSON for what has words of boxes in it.
func printRaceJSON(a *app.App, doc any) error { return encodeRace(a, doc, "  ") }

// printRaceLine is a document on a line of its own.
func printRaceLine(a *app.App, doc any) error { return encodeRace(a, doc, "") }

func encodeRace(a *app.App, doc any, indent string) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	err := enc.Encode(doc)
	if err == nil {
		_, err = a.Stdout.Write(tameJSON(text.Bytes()))
	}
	return forkbox.Wrap("print", err)
}

// tameJSON escapes what a terminal might obey and JSON lets pass: the control
// characters above ASCII, and those that turn the direction of writing. They
// can only be in strings, where an escape means the same.
func tameJSON(text []byte) []byte {
	odd := func(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
	if bytes.IndexFunc(text, odd) < 0 {
		return text
	}
	var out bytes.Buffer
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case !odd(r):
			out.Write(text[:n])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out.Bytes()
}
