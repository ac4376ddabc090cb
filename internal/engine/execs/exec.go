package execs

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/trace"
)

// ExecRequest is what to run. Env, where it is not nil, is the caller's whole
// environment and is filtered; ExtraEnv are variables that the user gave by
// name, which are passed as they are and win.
type ExecRequest struct {
	forkbox.ExecSpec
	ExtraEnv []string `json:"extra_env,omitempty"`
	// Wish is what limits it is to have, beside those of its box.
	Wish forkbox.Wish `json:"wish,omitzero"`
	// Detached says that no caller waits for it.
	Detached bool `json:"detached,omitempty"`
	// Label is how who asks finds it again in the record of its box.
	Label string `json:"-"`
}

// Exec starts a command in a box, which it wakes when it is at rest. It owns
// stdio, also when it fails. An exec that could not be started is in the
// record, with its exit, and so it is returned with the error.
func (m *Manager) Exec(ctx context.Context, who forkbox.Owner, ref string, req ExecRequest, stdio forkbox.Stdio) (forkbox.Exec, error) {
	ctx, end, err := m.core.Begin(ctx, "exec")
	if err != nil {
		stdio.Close()
		return forkbox.Exec{}, err
	}
	defer end()
	p, err := m.enlist(ctx, who, ref, req)
	if err != nil {
		stdio.Close()
		return forkbox.Exec{}, forkbox.Wrap("exec", err)
	}
	// Without cancelling: a start that is given up half-way would leave a
	// process that the ledger says was not started.
	if err := m.run(context.WithoutCancel(ctx), p, who, stdio); err != nil {
		m.boxes.FinishExec(p.h, p.a, p.exec.ID, notStarted(err), nil)
		return p.h.Record(p.x), forkbox.Wrap("exec", err)
	}
	return p.h.Record(p.x), nil
}

// planned is an exec that is in the ledger and about to be started.
type planned struct {
	h    *core.Handle
	a    *core.Attached
	x    *core.Execution
	exec forkbox.Exec // as it is while it runs
	spec forkbox.ExecSpec
	kept int64 // bytes of output
}

// enlist wakes the box and records the exec. It has the box's turn for that
// and no longer: execs start and run side by side, and a box can be stopped
// while one hangs in its start.
func (m *Manager) enlist(ctx context.Context, who forkbox.Owner, ref string, req ExecRequest) (p planned, err error) {
	defer func() { err = core.NameBox(err, ref) }()
	if err := req.check(who); err != nil {
		return p, err
	}
	if err := m.limits.CheckWish(who, req.Wish); err != nil {
		return p, err
	}
	in, err := m.enter(ctx, who, ref, req.Wish, true)
	if err != nil {
		return p, err
	}
	defer in.leave()
	if req.Here && req.Dir == "" && in.box.Base.IsReality() {
		return p, forkbox.Errorf(forkbox.Invalid, "find the current directory", "it does not exist any more").
			Hint("go to one that does, or choose one in the box with -w DIR")
	}
	policy, err := m.limits.ExecPolicy(in.box, who, req.Wish, req.Timeout)
	if err != nil {
		return p, err
	}
	if p.a, err = m.boxes.WakeFor(ctx, in.h, &in.box, slices.Concat(req.Env, req.ExtraEnv)); err != nil {
		return p, err
	}
	if err := limits.NotPaused("exec", in.box); err != nil {
		return p, err
	}
	return p, m.record(ctx, &p, in, who, req, policy)
}

// record writes down an exec that is about to be started.
func (m *Manager) record(ctx context.Context, p *planned, in *entry, who forkbox.Owner, req ExecRequest, policy forkbox.Policy) (err error) {
	box, h := in.box, in.h
	p.h, p.spec = h, m.spec(box, who, req)
	p.kept = m.limits.LimitExec(&p.spec, policy)
	// The ledger's record and ours appear as one to a caller who looks for both.
	h.Mu.Lock()
	defer h.Mu.Unlock()
	p.exec, err = m.core.Ledger.AddExec(ctx, forkbox.Exec{
		Box: box.ID, Argv: p.spec.Argv, Dir: p.spec.Dir, User: p.spec.User, TTY: p.spec.TTY, Started: m.core.Now(),
		Policy: policy, Detached: req.Detached, Label: req.Label,
	}, m.boxes.Started(box, p.spec.Argv, who))
	if err != nil {
		return err
	}
	p.x = &core.Execution{Exec: p.exec, Done: make(chan struct{})}
	p.a.Execs[p.exec.ID] = p.x
	if p.spec.Timeout > 0 {
		m.boxes.ExpireExec(h, p.a, p.x, p.spec.Timeout)
	}
	return nil
}

// run hands the exec to the instance, and with it stdio and the log.
func (m *Manager) run(ctx context.Context, p planned, who forkbox.Owner, stdio forkbox.Stdio) error {
	if stdio.Stream != nil {
		if _, err := streaming("run "+p.spec.Argv[0], p.a); err != nil {
			return err
		}
	}
	log, err := m.core.Logs.Create(p.exec.Box, p.exec.ID)
	if err != nil {
		stdio.Close()
		return p.unlessEnded(forkbox.Wrap("keep the output", err))
	}
	step := trace.Step(ctx, "start command")
	err = p.unlessEnded(p.a.Instance.Exec(ctx, p.exec.ID, p.spec, who, stdio, log, p.kept))
	step.End(err)
	return err
}

// unlessEnded is an error, or that the box was ended by another caller: then that
// is why something of it is not there.
func (p planned) unlessEnded(err error) error {
	if err == nil || forkbox.CodeOf(err) != forkbox.Internal || p.h.Ending(p.a) == nil {
		return err
	}
	return forkbox.Errorf(forkbox.Busy, "run "+p.spec.Argv[0], "the box has ended")
}

// check refuses what makes no sense and what the caller may not.
func (r ExecRequest) check(who forkbox.Owner) error {
	const op = "exec"
	switch {
	case len(r.Argv) == 0:
		return forkbox.Errorf(forkbox.Invalid, op, "no command was given").
			Hint("put it after two dashes: forkbox exec BOX -- COMMAND")
	case r.Dir != "" && !path.IsAbs(r.Dir):
		return forkbox.Errorf(forkbox.Invalid, op, "the directory %q is not absolute", r.Dir)
	case r.Timeout < 0:
		return forkbox.Errorf(forkbox.Invalid, op, "the timeout %s is negative", r.Timeout)
	}
	for _, kv := range r.ExtraEnv {
		if i := strings.IndexByte(kv, '='); i < 1 {
			return forkbox.Errorf(forkbox.Invalid, op, "%q is not a variable", kv).Hint("use -e NAME=VALUE")
		}
	}
	if who.UID != 0 && !isSelf(who, r.User) {
		return forkbox.Errorf(forkbox.Denied, op, "you may not start commands as %s", r.User).
			Hint("%s", wayToBe(r.User))
	}
	return nil
}

// wayToBe is how a caller gets to be another user in a box.
func wayToBe(user string) string {
	if review.Rootless() {
		return "without root a box has one user, you; for others run the daemon as root: sudo forkbox serve"
	}
	return "become that user inside the box: forkbox exec BOX -- sudo -u " + user + " COMMAND"
}

func isSelf(who forkbox.Owner, user string) bool {
	return user == "" || user == who.Name || user == strconv.Itoa(who.UID)
}

// spec is the request with what the box has to say filled in.
func (m *Manager) spec(box forkbox.Box, who forkbox.Owner, req ExecRequest) forkbox.ExecSpec {
	spec := req.ExecSpec
	if spec.Dir == "" || spec.Here && !box.Base.IsReality() {
		spec.Dir = box.Dir
	}
	if isSelf(who, spec.User) {
		// Not by name, which is looked up in the box: a process that can write its
		// /etc/passwd could make that name mean another user.
		spec.User = ""
	}
	env := box.Env
	if spec.Env != nil && box.Base.IsReality() { // an image has an environment of its own
		env, _ = m.core.Secrets(spec.Env, box.AllowSecrets)
	}
	spec.Env = override(override(env, m.network.NetEnv(box)), req.ExtraEnv)
	return spec
}

// override sets variables in a copy of env. Appending would not do: of a name
// that is there twice, most programs read the first.
func override(env, extra []string) []string {
	set := map[string]bool{}
	for _, kv := range extra {
		name, _, _ := strings.Cut(kv, "=")
		set[name] = true
	}
	out := make([]string, 0, len(env)+len(extra))
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); !set[name] {
			out = append(out, kv)
		}
	}
	return append(out, extra...)
}

func notStarted(err error) forkbox.Exit {
	return forkbox.Exit{Code: forkbox.CodeOf(err).ExitCode(), Cause: forkbox.CauseNotRun, Why: err.Error()}
}
