package race

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

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

// raceFrame is how often the screen is drawn at most, and raceIdle how often at
// least: clocks go on also when nothing happens.
const (
	raceFrame = 100 * time.Millisecond
	raceIdle  = time.Second
)

// raceScreen is a race on a terminal: some lines at the bottom that are drawn
// anew in place. It changes nothing of the terminal, neither modes nor cursor
// nor page: whatever ends it leaves nothing to put back.
type raceScreen struct {
	out    *os.File
	colour bool

	mu    sync.Mutex
	board raceBoard
	fresh bool // what is on the screen is what there is to show
	drawn int  // lines
	last  time.Time
	ended bool

	stop    chan struct{}
	stopped chan struct{}
}

// openRaceScreen draws nothing yet: a race that ends at once needs no more than
// its result.
func openRaceScreen(out *os.File, colour bool) *raceScreen {
	s := &raceScreen{out: out, colour: colour, stop: make(chan struct{}), stopped: make(chan struct{}), fresh: true, last: time.Now()}
	go s.run()
	return s
}

func (s *raceScreen) run() {
	defer close(s.stopped)
	tick := time.NewTicker(raceFrame)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.draw()
		case <-s.stop:
			return
		}
	}
}

func (s *raceScreen) take(e forkbox.RaceEvent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.board.take(e)
	s.fresh = false
	return nil
}

func (s *raceScreen) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.board.said, s.fresh = text, false
}

func (s *raceScreen) race() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.board.name
}

// draw replaces the lines that are there. All of it is one write, and lines
// that do not fit are not wrapped meanwhile, whatever the terminal takes a
// character's width for.
func (s *raceScreen) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.fresh && now.Sub(s.last) < raceIdle {
		return
	}
	s.fresh, s.last = true, now
	size := terminal.WindowSize(s.out)
	lines := s.board.render(raceRoom{cols: int(size.Cols), rows: int(size.Rows) - 1, colour: s.colour}, now)
	var text strings.Builder
	text.WriteString("\x1b[?7l" + s.back())
	for _, line := range lines {
		text.WriteString(line + "\x1b[K\r\n")
	}
	text.WriteString("\x1b[J\x1b[?7h")
	s.drawn = len(lines)
	s.out.WriteString(text.String())
}

// back leads to the first of the lines that were drawn. The terminal itself
// stops at its top, where it has become smaller meanwhile.
func (s *raceScreen) back() string {
	if s.drawn == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", s.drawn)
}

func (s *raceScreen) close() {
	s.mu.Lock()
	ended := s.ended
	s.ended = true
	s.mu.Unlock()
	if ended {
		return
	}
	close(s.stop)
	<-s.stopped
	if s.drawn > 0 {
		s.out.WriteString(s.back() + "\x1b[J")
	}
}
