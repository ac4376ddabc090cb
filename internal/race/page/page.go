// Package page writes a race as one HTML page that can be mailed or put
// beside a build: the table, charts and what each approach changed. It needs
// nothing but itself, and everything in it that came from a box, such as names,
// paths and patches, is text and stays text.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// Page is what to show. Diffs are by approach, with their patches; an approach
// without an entry there is one whose changes are not known. Cut marks those of
// which Diffs has only a part.
type Page struct {
	Race    forkbox.Race
	Diffs   map[string][]forkbox.Change
	Cut     map[string]bool
	Made    time.Time
	Version string
}

// Write writes the page. Its size is bounded, whatever the race did; what was
// left out is said where it is missing.
func Write(w io.Writer, p Page) error {
	if err := layout().Execute(w, newView(p)); err != nil {
		return forkbox.Errorf(forkbox.Internal, "write the page", "%w", err)
	}
	return nil
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// layout is parsed when the first page is written: every start of the program
// would pay for it otherwise.
var layout = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageHTML))
})

// securityPolicy has the browser refuse all but the page's own style and script:
// should something from a box ever be taken for markup, it can neither run nor
// load or send anything.
func securityPolicy() string {
	return "default-src 'none'; style-src " + hashOf(pageCSS) + "; script-src " + hashOf(pageJS) +
		"; base-uri 'none'; form-action 'none'"
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

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
