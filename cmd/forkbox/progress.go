package main

import (
	"fmt"
	"time"
)

// progress says what takes so long, on a terminal and after a second. The
// function it returns takes the line away again.
func (a *app) progress(what string) (done func()) {
	if a.json || !isTerminal(a.stderr) {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		a.showProgress(what, stop)
	}()
	return func() { close(stop); <-stopped }
}

func (a *app) showProgress(what string, stop <-chan struct{}) {
	began := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	shown := false
	for {
		select {
		case <-tick.C:
			shown = true
			fmt.Fprintf(a.stderr, "\r\x1b[K%s … %ds", what, int(time.Since(began).Seconds()))
		case <-stop:
			if shown {
				fmt.Fprint(a.stderr, "\r\x1b[K")
			}
			return
		}
	}
}
