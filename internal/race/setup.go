package race

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// setup runs what comes before the fork, once.
func (r *race) setup() error {
	if len(r.spec.Setup) == 0 || r.record().Point != "" {
		return nil // there is none; it is done; another race has run it
	}
	for lost := 0; ; lost++ {
		b, err := r.setupPlace()
		if err == nil {
			err = b.prepare()
		}
		err = r.blame(r.trial, err)
		if err == nil || r.closing() {
			return err
		}
		if errors.Is(err, errLost) && lost < mostLost && b.remove() == nil {
			continue
		}
		return r.unready(b, err)
	}
}

// unready is why there is nothing to begin at. Of a setup that failed nothing is
// left; of one that was cancelled the box, to be looked at.
func (r *race) unready(b *bench, err error) error {
	if b == nil {
		return err
	}
	b.halt()
	if errors.Is(err, errCancelled) {
		return err
	}
	if gone := b.remove(); gone != nil {
		return fmt.Errorf("%w (and its box %s could not be removed: %w)", err, b.box.Name, gone)
	}
	if gone := r.texts.remove(r.id); gone != nil {
		r.log.Warn("cannot remove what a setup printed", "race", r.id, "error", gone)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.SetupBox = ""
	return err
}

// setupPlace is the box of the setup, found again or made now.
func (r *race) setupPlace() (*bench, error) {
	r.mu.Lock()
	b := r.found[""]
	delete(r.found, "")
	r.mu.Unlock()
	if b == nil {
		spec := r.commonSpec()
		spec.Name = r.name + "-setup"
		box, err := r.create(r.trial, spec)
		if err != nil {
			return nil, err
		}
		b = r.newBench(setupBench, 1, box)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.SetupBox, r.rec.SetupRuns = b.box.ID, nil
	return b, nil
}

// prepare runs the commands of the setup and saves what they left.
func (b *bench) prepare() error {
	for n, c := range b.spec.Setup {
		b.say("setup: " + title(c))
		x, err := b.do(b.trial, b.label("setup", n), c, 0)
		if err != nil {
			return err
		}
		b.mu.Lock()
		b.rec.SetupRuns = append(slices.Clip(b.rec.SetupRuns), ran(c, x))
		b.mu.Unlock()
		if x.Exit.Code != 0 && !c.MayFail {
			return b.setupFailed(c, x)
		}
	}
	s, err := b.own(b.trial, pointName(b.id), "where the approaches of race "+b.name+" begin")
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.rec.Point = b.box.ID + "@" + s.ID
	b.mu.Unlock()
	b.inBackground(b.halt)
	return b.keepRace(false)
}

// setupFailed says which command failed, how, and what it printed last.
func (b *bench) setupFailed(c forkbox.Command, x forkbox.Exec) error {
	var last lastLines
	_ = b.boxes.Logs(b.aside(), b.who, b.box.ID, x.ID, false, func(rec forkbox.LogRecord) error {
		last.add(rec.Data)
		return nil
	})
	text := ""
	if lines := last.all(); len(lines) > 0 {
		text = ":\n" + strings.Join(lines, "\n")
	}
	return forkbox.Errorf(forkbox.Invalid, "set up the race", "the setup command %s %s%s", title(c), howItEnded(*x.Exit), text)
}
