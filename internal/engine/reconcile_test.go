package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestRestartResumesExecs(t *testing.T) {
	w := newWorld(t)
	b := w.create("one")
	running, ended := w.exec("one"), w.exec("one")
	check(t, w.Close(t.Context()))
	m := w.host.instance(b.ID)
	m.host.mu.Lock()
	m.exited = nil // no daemon listens
	m.host.mu.Unlock()
	m.exit(ended.ID, forkbox.Exit{Code: 4, Cause: forkbox.CauseExited})
	w.restart(&fuse{})
	if exit := w.wait(ended); exit.Code != 4 {
		t.Errorf("the exit that nobody saw is %+v", exit)
	}
	go m.exit(running.ID, forkbox.Exit{Code: 5, Cause: forkbox.CauseExited})
	if exit := w.wait(running); exit.Code != 5 {
		t.Errorf("the one that went on is %+v", exit)
	}
	if !w.Busy() || w.state(b.ID) != forkbox.Running {
		t.Error("the box was not attached again")
	}
}

func TestRestartAfterReboot(t *testing.T) {
	w := newWorld(t)
	b := w.create("one")
	unknown, inLog := w.exec("one"), w.exec("one")
	w.logs.exits[inLog.ID] = forkbox.Exit{Code: 6, Cause: forkbox.CauseExited}
	check(t, w.Close(t.Context()))
	w.host.instance(b.ID).die(false)
	w.restart(&fuse{})
	if exit := w.wait(unknown); exit.Cause != forkbox.CauseLost || exit.Code != 125 {
		t.Errorf("got %+v", exit)
	}
	if exit := w.wait(inLog); exit.Code != 6 {
		t.Errorf("got %+v", exit)
	}
	got, err := w.Box(t.Context(), ada, "one")
	if err != nil || got.State != forkbox.Stopped || got.Note == "" {
		t.Errorf("got %+v, %v", got, err)
	}
	check(t, w.disagreement())
}

func TestLateExitReplacesAnAssumedOne(t *testing.T) {
	w := newWorld(t)
	b := w.create("one")
	x := w.exec("one")
	m := w.host.instance(b.ID)
	m.die(false)
	w.wait(x)
	m.exited(x.ID, forkbox.Exit{Code: 7, Cause: forkbox.CauseExited}, forkbox.Output{Kept: 2})
	if exit := w.wait(x); exit.Code != 7 {
		t.Errorf("got %+v", exit)
	}
	m.exited(x.ID, forkbox.Exit{Code: 8, Cause: forkbox.CauseExited}, forkbox.Output{})
	if exit := w.wait(x); exit.Code != 7 {
		t.Errorf("a repeated exit became %+v", exit)
	}
}

func TestOneFailingBoxDoesNotStopTheOthers(t *testing.T) {
	w := newWorld(t)
	bad, good := w.create("bad"), w.create("good")
	x := w.exec("bad")
	check(t, w.Close(t.Context()))
	good.State = forkbox.Removing
	check(t, w.ledger.UpdateBox(t.Context(), good))
	w.host.fail("watch", errors.New("no answer"))
	w.restart(&fuse{})
	got, err := w.Box(t.Context(), ada, "bad")
	if err != nil || got.State != forkbox.Running || !strings.Contains(got.Note, "no answer") {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = w.Box(t.Context(), ada, "good")
	wantCode(t, err, forkbox.NotFound)
	_, err = w.Wait(t.Context(), ada, "bad", x.ID)
	wantCode(t, err, forkbox.Busy)

	// When it answers again, the next use attaches to what runs.
	w.host.fail("watch", nil)
	w.exec("bad")
	if w.host.instance(bad.ID) == nil || w.state(bad.ID) != forkbox.Running {
		t.Error("it was not attached again")
	}
	check(t, w.disagreement())
}

func TestDoctorShowsWhatTheLedgerDoesNotKnow(t *testing.T) {
	w := newWorld(t)
	w.create("one")
	last := func() (found forkbox.Check) {
		for _, c := range w.Doctor(t.Context()) {
			if c.Name == "ledger" {
				found = c
			}
		}
		return found
	}
	if c := last(); c.Status != forkbox.OK {
		t.Errorf("got %+v", c)
	}
	w.host.mu.Lock()
	w.host.stored["dddddddddddd"] = true
	w.host.mu.Unlock()
	if c := last(); c.Status != forkbox.Warn || c.Remedy == "" || !strings.Contains(c.Detail, "dddddddddddd") {
		t.Errorf("got %+v", c)
	}
}

func TestClosedEngineRefuses(t *testing.T) {
	w := newWorld(t)
	w.create("one")
	w.exec("one")
	check(t, w.Close(t.Context()))
	_, err := w.Create(t.Context(), ada, CreateSpec{})
	wantCode(t, err, forkbox.Unavailable)
	w.restart(&fuse{})
	check(t, w.disagreement())
}

// otherProvider is a provider of another name on the same host.
type otherProvider struct{ fakeProvider }

func (otherProvider) Name() string { return "other" }

// TestBoxesOfAnotherProviderAreNotServed: to this one they would be dead, and their
// files gone.
func TestBoxesOfAnotherProviderAreNotServed(t *testing.T) {
	for _, run := range []bool{false, true} {
		w := newWorld(t)
		b := w.create("one")
		if run {
			w.exec("one")
		}
		before := w.state(b.ID)
		w.stopEngine()
		w.Engine = New(Config{
			Ledger: w.ledger, Provider: otherProvider{fakeProvider{w.host, &fuse{}}}, Logs: w.logs, Secrets: withoutTokens,
		})
		err := w.Reconcile(t.Context())
		if forkbox.CodeOf(err) != forkbox.Unsupported || !strings.Contains(err.Error(), "box one is one of provider fake") {
			t.Errorf("got %v", err)
		}
		if got := w.state(b.ID); got != before {
			t.Errorf("the box was %s and is %s", before, got)
		}
	}
}
