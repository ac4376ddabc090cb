package app

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// InLine is patiently for what may have to wait where the host is full: it says
// so, with the place.
func (a *App) InLine(ctx context.Context, what, ticket string, do func(context.Context) error) error {
	defer a.sayPlace(what, ticket)()
	return terminal.Heeding([]os.Signal{os.Interrupt}, ctx, do)
}

// sayPlace tells who waits their place: on a terminal as it changes, elsewhere
// once, as soon as they wait.
func (a *App) sayPlace(what, ticket string) (done func()) {
	if a.JSON || terminal.IsTerminal(a.Stderr) {
		return a.ProgressOf(a.Place(what, ticket))
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		a.sayOnce(a.Place("", ticket), stop)
	}()
	return func() { close(stop); <-stopped }
}

// sayOnce looks until there is something to say.
func (a *App) sayOnce(what func() string, stop <-chan struct{}) {
	for pause := 200 * time.Millisecond; ; pause = time.Second {
		select {
		case <-time.After(pause):
		case <-stop:
			return
		}
		if text := what(); text != "" {
			a.Say("%s", text)
			return
		}
	}
}

// placePatience is how long the line of progress waits for its own news.
const placePatience = 500 * time.Millisecond

// Place says what is waited for: for a place in the queue, as long as the ticket
// is there, and else for what is being done.
func (a *App) Place(what, ticket string) func() string {
	return func() string {
		ctx, cancel := context.WithTimeout(context.Background(), placePatience)
		defer cancel()
		c := a.ShyClient()
		defer c.Close()
		list, err := c.Queue(ctx)
		for _, p := range list {
			if err == nil && p.Ticket == ticket {
				return fmt.Sprintf("waiting: %s in line%s", ordinal(p.Place), then(p.Why))
			}
		}
		return what
	}
}

func then(why string) string { return terminal.Prefixed("; ", terminal.Printable(why)) }

// ordinal reads 1st, 2nd, 3rd, 4th, 11th, 21st.
func ordinal(n int) string {
	ending := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			ending = "st"
		case 2:
			ending = "nd"
		case 3:
			ending = "rd"
		}
	}
	return strconv.Itoa(n) + ending
}
