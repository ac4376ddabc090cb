package boxes

import (
	"context"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
)

// attach makes an instance the box's own, with the gate that was opened for it.
// unfinished are the execs that the ledger believes to run in it. The caller
// has the box's turn.
func (m *Manager) attach(h *core.Handle, box forkbox.Box, instance forkbox.Instance, gate forkbox.Gate, unfinished []forkbox.Exec) error {
	a := &core.Attached{
		Instance: instance, Gone: make(chan struct{}), Owner: box.Owner.UID,
		Execs: map[string]*core.Execution{}, Poke: make(chan struct{}, 1), Known: box,
	}
	a.Known.Env = nil
	now := m.core.Instant()
	*tended.Of(a) = tending{pinned: box.Pinned, idleSince: time.Now(), seen: now, quiet: now.Since}
	m.network.SetGate(h, a, gate)
	m.limits.BeginSeries(a, box.ID)
	for _, x := range unfinished {
		a.Execs[x.ID] = &core.Execution{Exec: x, Done: make(chan struct{})}
		if timeout, has := x.Policy.Of(forkbox.Timeout); has && timeout > 0 {
			m.ExpireExec(h, a, a.Execs[x.ID], time.Until(x.Started.Add(time.Duration(timeout))))
		}
	}
	// Known before Watch is called: exits can arrive before it returns.
	h.Mu.Lock()
	h.Attached = a
	h.Mu.Unlock()
	running, err := instance.Watch(func(id string, exit forkbox.Exit, out forkbox.Output) {
		m.exited(h, a, id, exit, out)
	})
	if err != nil {
		h.Mu.Lock()
		h.Attached = nil
		h.Mu.Unlock()
		m.network.CloseGate(h, a)
		return err
	}
	m.settle(h, a, running, lost("it was not running any more when forkbox started again"))
	m.core.Hold(h.ID) // given back by detach
	m.limits.Line.Runs(box)
	m.core.Work.Go(func() { m.tend(h, a) })
	return nil
}

// detach forgets an instance that has ended. The caller has the box's turn.
func (m *Manager) detach(h *core.Handle, a *core.Attached) {
	m.network.CloseNet(h, a)
	m.limits.TrimLogs(h, a)
	h.Mu.Lock()
	h.Attached = nil
	h.Mu.Unlock()
	close(a.Gone)
	m.limits.Line.Rests(h.ID)
	m.core.Release(h)
}

// exited is the end of an exec, as its instance tells it.
func (m *Manager) exited(h *core.Handle, a *core.Attached, id string, exit forkbox.Exit, out forkbox.Output) {
	_, end, err := m.core.Begin(context.Background(), "record exit")
	if err != nil {
		return // the next engine learns it from the instance, or from the log
	}
	defer end()
	exit = m.limits.BlameDisk(h, a, exit)
	m.explain(h, a, id, exit)
	if !m.FinishExec(h, a, id, exit, &out) {
		m.correct(h.ID, id, exit, out)
	}
}

// FinishExec records how an exec ended and lets go of those who wait for it. It
// does nothing, and says so, when the exec does not run.
func (m *Manager) FinishExec(h *core.Handle, a *core.Attached, id string, exit forkbox.Exit, out *forkbox.Output) bool {
	h.Mu.Lock()
	x := a.Execs[id]
	if x == nil || x.Exec.Exit != nil {
		h.Mu.Unlock()
		return false
	}
	unasked := a.Ending == nil && x.Ending == nil
	exit = x.Sender.Sent(a.Ending.Asked(x.Ending.Asked(exit)))
	ended := m.core.Now()
	x.Exec.Ended, x.Exec.Exit, x.Exec.Output = &ended, &exit, out
	exec, box := x.Exec, a.Known
	limits.CountHit(a, exit.Cause)
	h.Mu.Unlock()

	// Written while it still counts as running, so that no caller finds it
	// neither here nor ended in the ledger.
	told := append(m.limits.ExitEvents(box, exec), m.ended(box, exec))
	if name, is := strings.CutPrefix(exec.Label, forkbox.ServiceLabel); is && unasked {
		told = append(told, m.serviceEnded(box, exec, name))
	}
	if err := m.core.Ledger.UpdateExec(context.WithoutCancel(m.core.Ctx), exec, told...); err != nil {
		m.core.Log.Error("cannot record an exit", "box", exec.Box, "exec", id, "exit", exit, "error", err)
	}
	m.Left(h, a, func() { delete(a.Execs, id) })
	close(x.Done)
	m.limits.Line.Poke()
	return true
}

// Left takes away something that kept the box in use, and begins to count the time
// that it idles.
func (m *Manager) Left(h *core.Handle, a *core.Attached, takeAway func()) {
	_, since := m.core.Clock()
	h.Mu.Lock()
	defer h.Mu.Unlock()
	takeAway()
	t := tended.Of(a)
	t.idleSince, t.quiet = time.Now(), since
	if !a.InUse() {
		m.lookSoon(h.ID, a)
	}
}

// lookAfter is how long a box is idle before the bases of what it changed are
// kept: execs often follow each other closely.
const lookAfter = 300 * time.Millisecond

// lookSoon has [Hooks.Observe] look at an idle box. The caller holds the
// handle's mu.
func (m *Manager) lookSoon(id string, a *core.Attached) {
	if m.bases.Dir == nil {
		return
	}
	t := tended.Of(a)
	if t.look != nil {
		t.look.Reset(lookAfter)
		return
	}
	t.look = time.AfterFunc(lookAfter, func() {
		if _, end, err := m.core.Begin(m.core.Ctx, "look at box"); err == nil {
			defer end()
			m.hooks.Observe(id)
		}
	})
}

// correct replaces an exit that was only assumed, which is one without a count
// of the output, when the true one arrives after all: an instance may hand
// over old exits late.
func (m *Manager) correct(box, id string, exit forkbox.Exit, out forkbox.Output) {
	ctx := context.WithoutCancel(m.core.Ctx)
	exec, err := m.core.Ledger.Exec(ctx, box, id)
	if err != nil || exec.Exit == nil || exec.Output != nil || exec.Exit.Cause == forkbox.CauseNotRun {
		return
	}
	assumed := *exec.Exit
	if assumed.Cause != forkbox.CauseLost {
		exit = (&core.Ending{Cause: assumed.Cause, By: assumed.By, Why: assumed.Why}).Asked(exit)
	}
	exec.Exit, exec.Output = &exit, &out
	known, err := m.core.Ledger.Box(ctx, box)
	if err != nil {
		return // it is gone
	}
	if err := m.core.Ledger.UpdateExec(ctx, exec, m.aboutExit(known, exec, forkbox.EventExecCorrected)); err != nil {
		m.core.Log.ErrorContext(ctx, "cannot record an exit", "box", box, "exec", id, "exit", exit, "error", err)
	}
}

// settle ends the execs that do not run any more without their exit having
// arrived. What the log knows of it is better than fallback.
func (m *Manager) settle(h *core.Handle, a *core.Attached, running []string, fallback forkbox.Exit) {
	h.Mu.Lock()
	left := map[string]bool{}
	for id := range a.Execs {
		left[id] = true
	}
	h.Mu.Unlock()
	for _, id := range running {
		delete(left, id)
	}
	for id := range left {
		exit, out := exitFromLog(m.core.Logs, h.ID, id, fallback)
		m.FinishExec(h, a, id, exit, out)
	}
}

// exitFromLog is how an exec ended as its log says, or else the fallback.
func exitFromLog(kept core.Logs, box, id string, fallback forkbox.Exit) (forkbox.Exit, *forkbox.Output) {
	if logs, ok := kept.(core.ExitLogs); ok {
		if exit, out, ok := logs.Exit(box, id); ok {
			return exit, &out
		}
	}
	return fallback, nil
}

func lost(why string) forkbox.Exit {
	return forkbox.Exit{Code: 125, Cause: forkbox.CauseLost, Why: why}
}
