package engine

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
)

// attached is a running instance and what goes on in it. The handle's mu
// guards what comes after execs.
type attached struct {
	instance forkbox.Instance
	gone     chan struct{}  // closed when the engine lets go of the instance
	owner    int            // whose box it is
	poke     chan struct{}  // has what looks after it look at once
	live     []forkbox.Port // that are published; guarded by the box's turn
	meter    meter
	series   series
	seen     instant // when its clocks were last looked at, by what tends it

	execs     map[string]*execution // running
	gate      forkbox.Gate          // that its traffic goes through; nil where it has none
	known     forkbox.Box           // its record, as of the last change that matters here
	pinned    bool
	ending    *ending // the engine asked for it to end
	atOnce    bool    // without a TERM that what runs in it could heed
	idleSince time.Time
	hits      hits          // of limits, that were told
	told      []string      // notes of its execs
	written   int64         // to disks, when that was last looked at
	quiet     time.Duration // since when nothing is run in it, as the host counts
	look      *time.Timer   // until what the execs did is looked at
}

// execution is an exec that runs.
type execution struct {
	exec   forkbox.Exec
	ending *ending // the engine asked for it to end
	sender signaller
	done   chan struct{} // closed when exec has its exit
}

// attach makes an instance the box's own, with the gate that was opened for it.
// unfinished are the execs that the ledger believes to run in it. The caller
// has the box's turn.
func (e *Engine) attach(h *handle, box forkbox.Box, instance forkbox.Instance, gate forkbox.Gate, unfinished []forkbox.Exec) error {
	a := &attached{
		instance: instance, gate: gate, gone: make(chan struct{}), owner: box.Owner.UID, pinned: box.Pinned,
		execs: map[string]*execution{}, idleSince: time.Now(), poke: make(chan struct{}, 1), known: box, seen: e.instant(),
	}
	a.known.Env, a.quiet, a.series.file = nil, a.seen.since, e.seriesFile(box.ID)
	for _, x := range unfinished {
		a.execs[x.ID] = &execution{exec: x, done: make(chan struct{})}
		if timeout, has := x.Policy.Of(forkbox.Timeout); has && timeout > 0 {
			e.expireExec(h, a, a.execs[x.ID], time.Until(x.Started.Add(time.Duration(timeout))))
		}
	}
	// Known before Watch is called: exits can arrive before it returns.
	h.mu.Lock()
	h.attached = a
	h.mu.Unlock()
	running, err := instance.Watch(func(id string, exit forkbox.Exit, out forkbox.Output) {
		e.exited(h, a, id, exit, out)
	})
	if err != nil {
		h.mu.Lock()
		h.attached = nil
		h.mu.Unlock()
		e.closeGate(h, a)
		return err
	}
	e.settle(h, a, running, lost("it was not running any more when forkbox started again"))
	e.hold(h.id) // given back by detach
	e.queue.runs(box)
	e.work.Go(func() { e.tend(h, a) })
	return nil
}

// detach forgets an instance that has ended. The caller has the box's turn.
func (e *Engine) detach(h *handle, a *attached) {
	e.closeNet(h, a)
	e.trimLogs(h, a)
	h.mu.Lock()
	h.attached = nil
	h.mu.Unlock()
	close(a.gone)
	e.queue.rests(h.id)
	e.release(h)
}

// exited is the end of an exec, as its instance tells it.
func (e *Engine) exited(h *handle, a *attached, id string, exit forkbox.Exit, out forkbox.Output) {
	_, end, err := e.begin(context.Background(), "record exit")
	if err != nil {
		return // the next engine learns it from the instance, or from the log
	}
	defer end()
	exit = e.blameDisk(h, a, exit)
	e.explain(h, a, id, exit)
	if !e.finish(h, a, id, exit, &out) {
		e.correct(h.id, id, exit, out)
	}
}

// finish records how an exec ended and lets go of those who wait for it. It
// does nothing, and says so, when the exec does not run.
func (e *Engine) finish(h *handle, a *attached, id string, exit forkbox.Exit, out *forkbox.Output) bool {
	h.mu.Lock()
	x := a.execs[id]
	if x == nil || x.exec.Exit != nil {
		h.mu.Unlock()
		return false
	}
	exit = x.sender.sent(a.asked(x.ending.asked(exit)))
	ended := e.now()
	x.exec.Ended, x.exec.Exit, x.exec.Output = &ended, &exit, out
	exec, box := x.exec, a.known
	a.hits.count(exit.Cause)
	h.mu.Unlock()

	// Written while it still counts as running, so that nobody finds it
	// neither here nor ended in the ledger.
	if err := e.ledger.UpdateExec(context.WithoutCancel(e.ctx), exec); err != nil {
		e.log.Error("cannot record an exit", "box", exec.Box, "exec", id, "exit", exit, "error", err)
	}
	e.exitEvent(box, exec)
	_, since := e.clock()
	h.mu.Lock()
	delete(a.execs, id)
	a.idleSince, a.quiet = time.Now(), since
	if len(a.execs) == 0 {
		e.lookSoon(h.id, a)
	}
	h.mu.Unlock()
	close(x.done)
	e.queue.poke()
	return true
}

// asked is the exit of an exec whose box may have been asked to end. Where that is
// killed at once nothing in it can give up: what has exited did so before.
func (a *attached) asked(exit forkbox.Exit) forkbox.Exit {
	if a.atOnce && exit.Cause == forkbox.CauseExited {
		return exit
	}
	return a.ending.asked(exit)
}

// lookAfter is how long a box is idle before the bases of what it changed are
// kept: execs often follow each other closely.
const lookAfter = 300 * time.Millisecond

// lookSoon has [Engine.observe] look at an idle box. The caller holds the
// handle's mu.
func (e *Engine) lookSoon(id string, a *attached) {
	if e.bases == nil {
		return
	}
	if a.look != nil {
		a.look.Reset(lookAfter)
		return
	}
	a.look = time.AfterFunc(lookAfter, func() {
		if _, end, err := e.begin(e.ctx, "look at box"); err == nil {
			defer end()
			e.observe(id)
		}
	})
}

// correct replaces an exit that was only assumed, which is one without a count
// of the output, when the true one arrives after all: an instance may hand
// over old exits late.
func (e *Engine) correct(box, id string, exit forkbox.Exit, out forkbox.Output) {
	ctx := context.WithoutCancel(e.ctx)
	exec, err := e.ledger.Exec(ctx, box, id)
	if err != nil || exec.Exit == nil || exec.Output != nil || exec.Exit.Cause == forkbox.CauseNotRun {
		return
	}
	assumed := *exec.Exit
	if assumed.Cause != forkbox.CauseLost {
		exit = (&ending{assumed.Cause, assumed.By, assumed.Why}).asked(exit)
	}
	exec.Exit, exec.Output = &exit, &out
	if err := e.ledger.UpdateExec(ctx, exec); err != nil {
		e.log.Error("cannot record an exit", "box", box, "exec", id, "exit", exit, "error", err)
	}
}

// settle ends the execs that do not run any more without their exit having
// arrived. What the log knows of it is better than fallback.
func (e *Engine) settle(h *handle, a *attached, running []string, fallback forkbox.Exit) {
	h.mu.Lock()
	left := map[string]bool{}
	for id := range a.execs {
		left[id] = true
	}
	h.mu.Unlock()
	for _, id := range running {
		delete(left, id)
	}
	for id := range left {
		exit, out := e.exitFromLog(h.id, id, fallback)
		e.finish(h, a, id, exit, out)
	}
}

func (e *Engine) exitFromLog(box, id string, fallback forkbox.Exit) (forkbox.Exit, *forkbox.Output) {
	if logs, ok := e.logs.(exitLogs); ok {
		if exit, out, ok := logs.Exit(box, id); ok {
			return exit, &out
		}
	}
	return fallback, nil
}

func lost(why string) forkbox.Exit {
	return forkbox.Exit{Code: 125, Cause: forkbox.CauseLost, Why: why}
}
