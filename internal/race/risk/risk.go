// Package risk finds, among the changes of an approach, those that deserve a
// second look before they land: secrets, tests that were changed rather than
// passed, what runs by being there. It judges by names and modes, and by what
// the race's own checks name, never by what files say.
package risk

import (
	"fmt"

	"github.com/forkbox/forkbox"
)

const (
	mostShown = 3  // of a kind; the others are counted
	mostNotes = 50 // in all
)

// Notes gathers what deserves a second look. The zero value is ready, and is
// better off with a Root.
type Notes struct {
	// Root is the workspace: names of directories above it mean nothing.
	Root string
	// Judges are what checks and metrics of the race run, in Dir where they do
	// not say otherwise. Files that they name are tests, whatever they are called.
	Judges []forkbox.Command
	Dir    string

	named   named // by Judges
	kinds   [lastKind]notes
	noted   [lastKind]bool // of the change that is looked at
	deleted int            // paths
	gone    string
}

// notes are those of one kind: the first few, and how many there are.
type notes struct {
	first []forkbox.Caution
	count int
}

// Add looks at one change.
func (n *Notes) Add(c forkbox.Change) {
	clear(n.noted[:])
	if c.Hidden {
		n.note(hidden, c, verb(c)+" what the box was not shown")
	}
	n.addJudge(c)
	switch c.Scope {
	case forkbox.Noise:
		n.addNoise(c)
	case forkbox.System:
		n.addSystem(c)
	default:
		for _, p := range n.places(c) {
			n.addPlace(p, c)
		}
		n.addNode(c)
		n.countDeleted(c)
	}
}

// addSystem is for what lies elsewhere on the machine. That it does is what
// matters; an installed package would else be hundreds of notes.
func (n *Notes) addSystem(c forkbox.Change) {
	n.note(outside, c, verb(c)+" a path outside of the workspace")
	for _, p := range n.places(c) {
		n.noteIf(secret, p, c)
	}
	n.addRights(c)
}

// addNoise is for what does not land by itself: of that only the project's own
// secrets matter, which ignore files name for good reason.
func (n *Notes) addNoise(c forkbox.Change) {
	at := n.place(c.Path)
	if len(at.dirs) == 0 {
		n.noteIf(secret, at, c)
	}
}

// addPlace names what a path is by where it lies and what it is called.
func (n *Notes) addPlace(at place, c forkbox.Change) {
	if c.Kind == forkbox.Added && c.Type == "dir" {
		return // what is in it comes as changes of its own
	}
	if at.foreign() {
		n.note(foreign, c, verb(c)+" third-party code")
		return
	}
	for _, look := range []func(place) (kind, string){secret, hook, pipeline, package_, recipe, agentFile, testSettings} {
		n.noteIf(look, at, c)
	}
	if isTest(at) && c.Kind != forkbox.Added {
		kind := tests
		if c.Kind == forkbox.Deleted {
			kind = testsGone
		}
		n.note(kind, c, verb(c)+testWord(c))
	}
}

func testWord(c forkbox.Change) string {
	if c.Type == "dir" {
		return " a directory of tests"
	}
	return " a test"
}

// places are where a change takes place: what was moved was somewhere, too.
func (n *Notes) places(c forkbox.Change) []place {
	all := []place{n.place(c.Path)}
	if c.Kind == forkbox.Renamed && c.From != "" {
		all = append(all, n.place(c.From))
	}
	return all
}

func (n *Notes) noteIf(look func(place) (kind, string), at place, c forkbox.Change) {
	if kind, what := look(at); what != "" {
		n.note(kind, c, verb(c)+" "+what)
	}
}

// note adds one, once for a change: both ends of a move may be of one kind.
func (n *Notes) note(k kind, c forkbox.Change, why string) {
	if n.noted[k] {
		return
	}
	n.noted[k] = true
	of := &n.kinds[k]
	if of.count++; len(of.first) < mostShown {
		of.first = append(of.first, forkbox.Caution{Path: c.Path, Why: why})
	}
}

// List is what was found, what matters most first. Of many alike the last that
// is shown says how many there are.
func (n *Notes) List() []forkbox.Caution {
	var all []forkbox.Caution
	for k, of := range n.kinds {
		all = append(all, of.first...)
		if more := of.count - len(of.first); more > 0 {
			all[len(all)-1].Why += fmt.Sprintf(", and there are %d more like it", more)
		}
		if kind(k) == testsGone && n.deleted >= manyDeleted {
			all = append(all, forkbox.Caution{Path: n.gone, Why: fmt.Sprintf("it deletes %d paths in all", n.deleted)})
		}
	}
	return all[:min(len(all), mostNotes)]
}
