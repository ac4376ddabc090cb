package main

import (
	"io"
	"os"
	"sync"

	"github.com/forkbox/forkbox"
)

// raceView shows a race while it runs.
type raceView interface {
	take(forkbox.RaceEvent) error
	// note says something to who looks on.
	note(text string)
	// race is the name of the race, once it is known.
	race() string
	// close takes away what must not stay. It can be repeated.
	close()
}

// newRaceView chooses: events with --json, a live view on a terminal, and plain
// lines elsewhere. What stays is on stdout; so the live view is on stderr where
// stdout leads somewhere else.
func (a *app) newRaceView() raceView {
	if a.json {
		return &raceEvents{app: a}
	}
	for _, out := range []io.Writer{a.stdout, a.stderr} {
		if isTerminal(out) && os.Getenv("TERM") != "dumb" {
			return openRaceScreen(out.(*os.File), takesColour(out))
		}
	}
	return &raceLines{out: a.stderr, paint: func(c colour, text string) string { return a.paint(c, text) }}
}

// raceEvents is an event per line, as they come.
type raceEvents struct {
	*app

	mu   sync.Mutex
	name string
}

func (v *raceEvents) take(e forkbox.RaceEvent) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e.Record != nil {
		v.name = e.Record.Name
	}
	return v.printRaceLine(e)
}

func (v *raceEvents) note(string) {}

func (v *raceEvents) race() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.name
}

func (v *raceEvents) close() {}
