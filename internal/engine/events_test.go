package engine

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestEventsAreFollowed(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	b := w.make("one", nil)
	w.exec("one")
	_, err := w.Pause(t.Context(), ada, "one")
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan forkbox.Event, 10)
	done := make(chan error)
	go func() {
		done <- w.Events(ctx, ada, EventSpec{Box: "one", Kinds: forkbox.EventFilter{"box.paused", "box.resumed"}, Follow: true}, func(e forkbox.Event) error { got <- e; return nil })
	}()
	if e := <-got; e.Kind != forkbox.EventPaused || e.Box != b.ID || e.Name != "one" || e.Text != "by user ada" {
		t.Errorf("got %+v", e)
	}
	_, err = w.Resume(t.Context(), ada, "one")
	check(t, err)
	last := <-got
	if last.Kind != forkbox.EventResumed {
		t.Errorf("got %+v", last)
	}
	cancel()
	check(t, <-done)

	check(t, w.Remove(t.Context(), ada, "one", true))
	if n := len(w.events(b.ID)); n != 8 { // they outlive it
		t.Errorf("%d events", n)
	}
	for _, ref := range []string{"", b.ID} {
		err := w.Events(t.Context(), bob, EventSpec{Box: ref}, func(e forkbox.Event) error { t.Errorf("bob sees %+v", e); return nil })
		check(t, err)
	}
	wantCode(t, w.Events(t.Context(), ada, EventSpec{Box: "one"}, nil), forkbox.NotFound)
	enough := errors.New("enough")
	if err := w.Events(t.Context(), ada, EventSpec{Follow: true}, func(forkbox.Event) error { return enough }); err != enough {
		t.Errorf("got %v", err)
	}
	check(t, w.Events(t.Context(), ada, EventSpec{After: last.ID}, func(e forkbox.Event) error {
		if e.ID <= last.ID {
			t.Errorf("again %+v", e)
		}
		return nil
	}))
	check(t, w.Events(t.Context(), ada, EventSpec{After: Latest}, func(e forkbox.Event) error { t.Errorf("again %+v", e); return nil }))
	go func() {
		done <- w.Events(t.Context(), ada, EventSpec{After: last.ID, Follow: true}, func(forkbox.Event) error { return nil })
	}()
	w.Close(t.Context())
	wantCode(t, <-done, forkbox.Unavailable)
}

func TestAttach(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	b := w.make("one", nil)
	waited := w.exec("one")
	req := command("sleep")
	req.Detached = true
	x, err := w.Exec(t.Context(), ada, "one", req, forkbox.Stdio{})
	check(t, err)
	if got, err := w.GetExec(t.Context(), ada, "one", x.ID); err != nil || !got.Detached {
		t.Errorf("recorded %+v, %v", got, err)
	}
	for _, c := range []struct {
		id   string
		code forkbox.Code
	}{{x.ID, ""}, {waited.ID, forkbox.Busy}, {"9", forkbox.NotFound}} {
		in, out, err := os.Pipe()
		check(t, err)
		err = w.Attach(t.Context(), ada, "one", c.id, forkbox.Stdio{In: in})
		if c.code == "" {
			check(t, err)
		} else {
			wantCode(t, err, c.code)
		}
		if in.Close() == nil {
			t.Errorf("exec %s: stdio was left open", c.id)
		}
		out.Close()
	}
	w.host.instance(b.ID).with(func(m *machine) {
		if len(m.relayed) != 1 || m.relayed[0] != x.ID {
			t.Errorf("relayed %v", m.relayed)
		}
	})
	_, err = w.Stop(t.Context(), ada, "one", nil)
	check(t, err)
	if exit := w.wait(x); exit.Cause != forkbox.CauseStopped {
		t.Errorf("a detached exec outlived its box: %+v", exit)
	}
}
