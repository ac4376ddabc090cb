package race

import (
	"fmt"
	"io"
	"sync"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// raceLines is a race where there is no terminal: a line for whatever happens.
// What approaches print is not among it: that is in their logs.
type raceLines struct {
	out   io.Writer
	paint func(terminal.Colour, string) string

	mu    sync.Mutex
	name  string
	known map[string]forkbox.Entry
	done  map[string]string // what was said of those that are; some are judged again
}

func (v *raceLines) take(e forkbox.RaceEvent) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e.Record != nil {
		v.name = e.Record.Name
	}
	switch {
	case e.Kind == forkbox.RaceBegins && e.Record != nil:
		return v.begin(*e.Record)
	case e.Kind == forkbox.RaceEntry && e.Entry != nil:
		return v.tell(*e.Entry)
	case e.Kind == forkbox.RaceNote:
		return v.print(terminal.Printable(e.Line))
	}
	return nil
}

// begin is also what a daemon says that took the race over.
func (v *raceLines) begin(race forkbox.Race) error {
	if v.known == nil {
		v.known, v.done = map[string]forkbox.Entry{}, map[string]string{}
		if err := v.print(fmt.Sprintf("race %s: %s", terminal.Printable(race.Name), countApproaches(len(race.Entries)))); err != nil {
			return err
		}
	}
	if race.State != forkbox.RaceRunning {
		return nil // the result has it all
	}
	for _, entry := range race.Entries {
		if err := v.tell(entry); err != nil {
			return err
		}
	}
	return nil
}

func (v *raceLines) tell(now forkbox.Entry) error {
	for _, news := range raceNews(v.known[now.Name], now) {
		if err := v.print(terminal.Printable(now.Name) + ": " + news); err != nil {
			return err
		}
	}
	before := v.known[now.Name].Phase
	v.known[now.Name] = now
	if now.Phase != forkbox.PhaseDone || before == now.Phase || v.done[now.Name] == doneNews(now) {
		return nil
	}
	v.done[now.Name] = doneNews(now)
	return v.print(terminal.Printable(now.Name) + ": " + doneNews(now))
}

func (v *raceLines) print(line string) error {
	_, err := fmt.Fprintln(v.out, line)
	return forkbox.Wrap("print", err)
}

func (v *raceLines) note(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.print(v.paint(terminal.Yellow, text))
}

func (v *raceLines) race() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.name
}

func (v *raceLines) close() {}

// raceNews is what has happened to an approach in between, in words. One that
// waits has nothing to tell.
func raceNews(before, now forkbox.Entry) (news []string) {
	if now.Attempt > 1 && now.Attempt != before.Attempt {
		news = append(news, fmt.Sprintf("begins anew, attempt %d", now.Attempt))
		before = forkbox.Entry{}
	}
	moved := now.Phase != before.Phase
	if moved && now.Phase == forkbox.PhaseRunning {
		news = append(news, string(now.Phase))
	}
	for i, c := range now.Checks {
		was := 0
		if i < len(before.Checks) {
			was = endedRuns(before.Checks[i])
		}
		if endedRuns(c) > was {
			news = append(news, checkNews(c))
		}
	}
	switch {
	case moved && now.Phase == forkbox.PhaseMeasuring:
		news = append(news, string(now.Phase))
	case moved && before.Phase == forkbox.PhaseMeasuring:
		for _, m := range now.Metrics {
			news = append(news, fmt.Sprintf("measured %s: %s%s", shortCommand(m.Name), raceMeasure(m), terminal.Because(terminal.Printable(m.Why))))
		}
	}
	return news
}

// checkNews is how a check went: of several runs, how often it passed.
func checkNews(c forkbox.Checked) string {
	name := shortCommand(c.Name)
	switch {
	case endedRuns(c) > 1:
		return fmt.Sprintf("check %s: %s runs passed", name, passedOf(c))
	case c.Passed:
		return "check " + name + " passed"
	}
	return "check " + name + " failed" + terminal.Because(terminal.Printable(c.Why))
}

func doneNews(e forkbox.Entry) string {
	text := fmt.Sprintf("done: %s in %s", e.Outcome, raceSpan(e.Took))
	if e.Outcome != forkbox.OutcomePassed {
		text += terminal.Because(terminal.Printable(e.Why))
	}
	return text
}
