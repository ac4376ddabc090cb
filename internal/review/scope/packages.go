package scope

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/forkbox/forkbox"
)

const (
	// namesShown are how many packages a line names.
	namesShown = 8
	// namesKept bounds what is remembered of each manager: a box can make as
	// many directories that look like packages as it likes.
	namesKept = 10000
)

// deed is what was done with a package.
type deed string

const (
	installed deed = "installed"
	updated   deed = "updated"
	removed   deed = "removed"
	fetched   deed = "fetched"
)

// Packages tells by name what package managers did, from the paths that they
// changed. It counts what it does not name.
type Packages struct {
	dpkg   dpkg
	npm    tally
	pip    pip
	golang tally
}

// Add looks at one change. A renamed path is one that went and one that came.
func (p *Packages) Add(c forkbox.Change) {
	if c.Kind != forkbox.Renamed {
		p.add(c)
		return
	}
	gone := forkbox.Change{Path: c.From, Kind: forkbox.Deleted, Type: c.Type}
	p.add(gone)
	c.Kind = forkbox.Added
	p.add(c)
}

func (p *Packages) add(c forkbox.Change) {
	p.dpkg.add(c)
	addNPM(&p.npm, c)
	p.pip.add(c)
	addGo(&p.golang, c)
}

// Lines are one for each package manager that did something, always in the
// same order: "dpkg: installed jq, libjq1; removed foo".
func (p *Packages) Lines() []string {
	var lines []string
	line := func(manager string, t tally) {
		if text := t.String(); text != "" {
			lines = append(lines, manager+": "+text)
		}
	}
	line("dpkg", p.dpkg.tally())
	line("npm", p.npm)
	line("pip", p.pip.tally())
	line("go", p.golang)
	return lines
}

// tally is what one manager did with which packages.
type tally struct {
	did  map[string]deed
	over map[deed]int // what there was no room for
}

// note sets what was done with a package, or counts it where there is no room
// for its name.
func (t *tally) note(name string, what deed) {
	if _, known := t.did[name]; !known && len(t.did) >= namesKept {
		if t.over == nil {
			t.over = map[deed]int{}
		}
		t.over[what]++
		return
	}
	if t.did == nil {
		t.did = map[string]deed{}
	}
	t.did[name] = what
}

// String is "installed a, b; removed c".
func (t tally) String() string {
	var parts []string
	for _, what := range []deed{installed, fetched, updated, removed} {
		if text := t.names(what); text != "" {
			parts = append(parts, string(what)+" "+text)
		}
	}
	return strings.Join(parts, "; ")
}

func (t tally) names(what deed) string {
	var names []string
	for name, did := range t.did {
		if did == what {
			names = append(names, printable(name))
		}
	}
	slices.Sort(names)
	shown := names[:min(len(names), namesShown)]
	text := strings.Join(shown, ", ")
	if more := len(names) - len(shown) + t.over[what]; more > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s (…and %d more)", text, more))
	}
	return text
}

// printable quotes a name that could play tricks on a terminal. The names come
// from a box.
func printable(name string) string {
	odd := func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }
	if strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}
