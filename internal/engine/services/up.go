package services

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/execs"
)

// BringUp starts the services of a box that was just started, each when those that
// it comes after are ready, and returns when all are. The caller has the box's turn.
func (m *Manager) BringUp(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box) error {
	for _, s := range inOrder(box.Services) {
		if s.Stopped {
			continue
		}
		if err := m.bringUp(ctx, h, a, *box, s); err != nil {
			return err
		}
	}
	return nil
}

// inOrder puts services after those that they name. A circle is broken somewhere.
func inOrder(list []forkbox.BoxService) (ordered []forkbox.BoxService) {
	put := map[string]bool{}
	var add func(s forkbox.BoxService)
	add = func(s forkbox.BoxService) {
		if put[s.Name] {
			return
		}
		put[s.Name] = true
		for _, other := range list {
			if slices.Contains(s.After, other.Name) {
				add(other)
			}
		}
		ordered = append(ordered, s)
	}
	for _, s := range list {
		add(s)
	}
	return ordered
}

// bringUp starts one service and waits until it answers.
func (m *Manager) bringUp(ctx context.Context, h *core.Handle, a *core.Attached, box forkbox.Box, s forkbox.BoxService) error {
	op := "start the service " + s.Name
	if err := m.makeDirs(ctx, h, a, box, s); err != nil {
		return forkbox.Wrap(op, err)
	}
	x, err := m.execs.StartInTurn(ctx, h, a, box, execs.ExecRequest{
		ExecSpec: forkbox.ExecSpec{Argv: s.Start.Argv, Dir: s.Start.Dir, Env: append(forkbox.Strings{}, s.Start.Env...), User: userOf(box, s)},
		Detached: true, Label: forkbox.ServiceLabel + s.Name,
	})
	if err != nil {
		return forkbox.Wrap(op, err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.Start.Patience)
	defer cancel()
	err = m.awaitReady(ctx, h, a, box, s, x)
	if err == nil {
		e := m.core.AboutExec(box, x.Exec.ID, forkbox.EventServiceReady, s.Name+" answers")
		m.core.Tell(core.With(e, forkbox.EventData{To: s.Name}))
		return nil
	}
	why := fmt.Sprintf("it does not answer after %s", core.ShortSpan(s.Start.Patience))
	select {
	case <-x.Done:
		why = "it ended: " + ending(h.Record(x))
	default:
		if ctx.Err() == nil {
			why = err.Error()
		}
	}
	return forkbox.Errorf(forkbox.Busy, op, "%s%s", why, m.lastLines(box.ID, x.Exec.ID)).
		Hint("all that it said: forkbox logs %s %s", box.Name, x.Exec.ID).
		Hint("to use the box without it: forkbox services stop %s %s", box.Name, s.Name)
}

// awaitReady waits until the service answers, or has ended.
func (m *Manager) awaitReady(ctx context.Context, h *core.Handle, a *core.Attached, box forkbox.Box, s forkbox.BoxService, x *core.Execution) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan error, 1)
	go func() { answers <- m.probe(ctx, h, a, box, s) }()
	select {
	case <-x.Done:
		cancel()
		<-answers
		return fmt.Errorf("it ended")
	case err := <-answers:
		return err
	}
}

// probe returns when a service answers: when its recipe's command succeeds, or each
// of its ports takes a connection. A command that dies means not yet.
func (m *Manager) probe(ctx context.Context, h *core.Handle, a *core.Attached, box forkbox.Box, s forkbox.BoxService) error {
	if len(s.Start.Ready) == 0 {
		for _, port := range s.Ports {
			if err := m.network.Knock(ctx, "wait for "+s.Name, box, a, port); err != nil {
				return err
			}
		}
		return nil
	}
	// One command that tries again and again: a record of each try is of no use.
	argv := append([]string{"sh", "-c", `until "$@" >/dev/null 2>&1; do sleep 0.05; done`, "sh"}, s.Start.Ready...)
	x, err := m.execs.StartInTurn(ctx, h, a, box, execs.ExecRequest{
		ExecSpec: forkbox.ExecSpec{Argv: argv, Dir: "/", Env: slices.Concat(forkbox.Strings{}, s.Start.Env, s.Start.Reach), User: userOf(box, s)},
		Detached: true, Label: "probe:" + s.Name,
	})
	if err != nil {
		return err
	}
	select {
	case <-x.Done:
	case <-ctx.Done():
		h.SetKilled(x, &core.Ending{Cause: forkbox.CauseStopped, By: core.ByForkbox})
		_ = a.Instance.Kill(context.WithoutCancel(ctx), x.Exec.ID, 0)
		return ctx.Err() // it did not answer in time
	}
	if exit := h.Record(x).Exit; exit == nil || exit.Code != 0 {
		return fmt.Errorf("%s cannot be asked whether it is ready", s.Name)
	}
	return nil
}

// makeDirs makes the directories that a service needs and that boxes do not have.
func (m *Manager) makeDirs(ctx context.Context, h *core.Handle, a *core.Attached, box forkbox.Box, s forkbox.BoxService) error {
	if len(s.Start.Make) == 0 {
		return nil
	}
	argv := []string{"mkdir", "-p", "--"}
	if box.Owner.UID == 0 && s.Start.UID != 0 {
		owner := strconv.Itoa(s.Start.UID) + ":" + strconv.Itoa(s.Start.GID)
		argv = []string{"sh", "-c", `owner=$1; shift; mkdir -p -- "$@" && chown -- "$owner" "$@"`, "sh", owner}
	}
	x, err := m.execs.StartInTurn(ctx, h, a, box, execs.ExecRequest{
		ExecSpec: forkbox.ExecSpec{Argv: append(argv, s.Start.Make...), Dir: "/"}, Detached: true, Label: "prepare:" + s.Name,
	})
	if err != nil {
		return err
	}
	select {
	case <-x.Done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if exec := h.Record(x); exec.Exit.Code != 0 {
		return fmt.Errorf("cannot make %s: %s%s", strings.Join(s.Start.Make, ", "), ending(exec), m.lastLines(box.ID, x.Exec.ID))
	}
	return nil
}

// userOf is who a service runs as in a box.
func userOf(box forkbox.Box, s forkbox.BoxService) string {
	if s.Start.UID == box.Owner.UID {
		return ""
	}
	return strconv.Itoa(s.Start.UID)
}

// TakeDown asks the services of a box that is about to end to end themselves, and
// waits for that no longer than grace. The caller has the box's turn.
func (m *Manager) TakeDown(ctx context.Context, h *core.Handle, a *core.Attached, grace time.Duration) {
	box := h.Box(a)
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for _, s := range slices.Backward(inOrder(box.Services)) {
		if x := runningAs(h, a, s.Name); x != nil {
			m.end(ctx, a, x, s)
		}
	}
}

// end sends a service the signal that ends it, and waits.
func (m *Manager) end(ctx context.Context, a *core.Attached, x *core.Execution, s forkbox.BoxService) {
	signal := core.OrElse(s.Start.Stop, int(syscall.SIGTERM))
	if err := a.Instance.Signal(ctx, x.Exec.ID, signal); err != nil {
		return
	}
	select {
	case <-x.Done:
	case <-ctx.Done():
	}
}

// runningAs is the exec that a service of a running box is, nil if it is none.
func runningAs(h *core.Handle, a *core.Attached, name string) *core.Execution {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	for _, x := range a.Execs {
		if x.Exec.Label == forkbox.ServiceLabel+name && x.Exec.Exit == nil {
			return x
		}
	}
	return nil
}

// lines is how many of what a service said last are shown.
const lines = 8

// lastLines is what a command said last, for an error.
func (m *Manager) lastLines(box, exec string) string {
	var text []byte
	_ = m.core.Logs.Read(context.Background(), box, exec, false, func() bool { return true }, func(r forkbox.LogRecord) error {
		text = append(text, r.Data...)
		text = text[max(0, len(text)-4096):]
		return nil
	})
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(all) == 1 && all[0] == "" {
		return ""
	}
	return forkbox.SaidLast + strings.Join(all[max(0, len(all)-lines):], "\n  ")
}

func ending(x forkbox.Exec) string {
	switch {
	case x.Exit == nil:
		return "nobody knows how"
	case x.Exit.Why != "":
		return x.Exit.Why
	case x.Exit.Signal != "":
		return "ended by " + x.Exit.Signal
	}
	return fmt.Sprintf("exit code %d", x.Exit.Code)
}
