package race

import (
	"io"
	"os"
	"sync"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
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
func newRaceView(a *app.App) raceView {
	if a.JSON {
		return &raceEvents{App: a}
	}
	for _, out := range []io.Writer{a.Stdout, a.Stderr} {
		if terminal.IsTerminal(out) && os.Getenv("TERM") != "dumb" {
			return openRaceScreen(out.(*os.File), terminal.TakesColour(out))
		}
	}
	return &raceLines{out: a.Stderr, paint: func(c terminal.Colour, text string) string { return a.Paint(c, text) }}
}

// raceEvents is an event per line, as they come.
type raceEvents struct {
	*app.App

	mu   sync.Mutex
	name string
}

func (v *raceEvents) take(e forkbox.RaceEvent) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e.Record != nil {
		v.name = e.Record.Name
	}
	return printRaceLine(v.App, e)
}

func (v *raceEvents) note(string) {}

func (v *raceEvents) race() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.name
}

func (v *raceEvents) close() {}
