package page

import (
	"fmt"
	"html/template"
	"time"

	"github.com/forkbox/forkbox"
)

// view is the page as its layout wants it: text that can be shown as it is.
type view struct {
	Policy     string
	Style      template.CSS
	Script     template.JS
	Name       string
	Verdict    string
	Won        bool
	Facts      []fact
	Notes      []string
	Table      table
	Checks     *matrix
	Charts     []chart
	Approaches []section
	Made       string
	Version    string
}

// fact is a line about the race.
type fact struct{ Name, Value string }

// mostNotes is how many notes, risks or steps are listed of one thing.
const mostNotes = 100

func newView(p Page) view {
	race := p.Race
	return view{
		Policy: securityPolicy(), Style: template.CSS(pageCSS), Script: template.JS(pageJS),
		Name:       short(race.Name, mostName),
		Verdict:    verdict(race),
		Won:        race.Winner != "",
		Facts:      facts(race),
		Notes:      notes(race.Notes),
		Table:      newTable(race),
		Checks:     newMatrix(race),
		Charts:     charts(race),
		Approaches: sections(p),
		Made:       moment(p.Made),
		Version:    short(p.Version, mostName),
	}
}

// verdict is a sentence also where there is none yet, or never will be.
func verdict(race forkbox.Race) string {
	switch {
	case race.Verdict != "":
		return short(race.Verdict, mostReason)
	case race.State == forkbox.RaceRunning:
		return "It still runs: what is here is what was known when this page was made."
	case race.Why != "":
		return long(race.Why, mostReason)
	case race.Winner != "":
		return short(race.Winner, mostName) + " wins."
	}
	return "Nobody won."
}

func facts(race forkbox.Race) []fact {
	all := []fact{
		{"State", short(string(race.State), mostName)},
		{"Began", moment(race.Created)},
		{"Took", lasted(race)},
		{"Approaches", fmt.Sprint(len(race.Entries))},
		{"Each began as", origin(race)},
		{"In", short(race.Spec.Start.Dir, mostPath)},
		{"Seed", fmt.Sprint(race.Spec.Seed)},
		{"Landed", landed(race)},
		{"Repeats", short(race.Spec.Rerun, mostName)},
	}
	return known(all)
}

// known leaves out what there is nothing to say about.
func known(all []fact) (list []fact) {
	for _, f := range all {
		if f.Value != "" {
			list = append(list, f)
		}
	}
	return list
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func lasted(race forkbox.Race) string {
	if race.Ended.IsZero() {
		return ""
	}
	return duration(race.Ended.Sub(race.Created))
}

// origin is the point that all approaches were forked from.
func origin(race forkbox.Race) string {
	text := "this machine"
	switch start := race.Spec.Start; {
	case start.From != "" && start.From != forkbox.Reality:
		text = short(start.From, mostName)
	case start.Template != "":
		text = "the template " + short(start.Template, mostName)
	}
	if n := len(race.Spec.Setup); n > 0 {
		text += " after " + counted(n, "command") + " of setup"
	}
	return text
}

func landed(race forkbox.Race) string {
	if race.Landed == "" {
		return ""
	}
	return short(race.Landed, mostName) + ", receipt " + short(race.Receipt, mostName)
}

func notes(all []string) (list []string) {
	for i, text := range all {
		if i == mostNotes {
			return append(list, fmt.Sprintf("… and %d more.", len(all)-i))
		}
		list = append(list, short(text, mostReason))
	}
	return list
}
