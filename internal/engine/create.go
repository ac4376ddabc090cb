package engine

import (
	"context"
	"path"

	"github.com/forkbox/forkbox"
)

// reality is the one base there is so far.
const reality = "reality"

// CreateSpec is what box to make. Every field may be zero.
type CreateSpec struct {
	Name string // generated if empty
	// From is "reality" (or nothing), BOX@SNAPSHOT, "empty", "dir:/a/b", or
	// "base:ID" of one that AddBase made.
	From         string
	Template     string // instead of From
	Dir          string // where its commands start; the owner's home if empty
	Env          []string
	Net          forkbox.Net // none if empty
	AllowSecrets []string
}

// Create forks reality. The box is at rest.
func (e *Engine) Create(ctx context.Context, who forkbox.Owner, spec CreateSpec) (forkbox.Box, error) {
	ctx, end, err := e.begin(ctx, "create box")
	if err != nil {
		return forkbox.Box{}, err
	}
	defer end()
	box, err := e.newBox(who, spec)
	if err != nil {
		return forkbox.Box{}, err
	}
	// From the moment it is in the ledger others can see it; they wait.
	_, unlock, err := e.lock(ctx, box.ID)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer unlock()
	if box, err = e.addNamed(ctx, box); err != nil {
		return forkbox.Box{}, err
	}
	if err := e.prepare(ctx, &box); err != nil {
		e.undoCreate(context.WithoutCancel(ctx), box)
		return forkbox.Box{}, forkbox.Wrap("create box", err)
	}
	e.scan(box)
	return box, nil
}

func (e *Engine) newBox(who forkbox.Owner, spec CreateSpec) (forkbox.Box, error) {
	if err := spec.check(); err != nil {
		return forkbox.Box{}, err
	}
	if err := e.allow(spec.AllowSecrets, who); err != nil {
		return forkbox.Box{}, err
	}
	now := e.now()
	env, _ := e.secrets(spec.Env, spec.AllowSecrets)
	return forkbox.Box{
		ID: newID(), Name: spec.Name, State: forkbox.Creating, Provider: e.provider.Name(),
		Base:  forkbox.Base{Kind: reality, Fence: e.fence()},
		Owner: who, Net: orElse(spec.Net, forkbox.NetNone),
		Dir:     orElse(spec.Dir, orElse(who.Home, "/")),
		Created: now, Env: env, AllowSecrets: spec.AllowSecrets,
	}, nil
}

func (s CreateSpec) check() error {
	const op = "create box"
	if s.Name != "" {
		if err := checkName(s.Name); err != nil {
			return err
		}
	}
	if s.From != "" && s.From != reality {
		return forkbox.Errorf(forkbox.Unsupported, op, "it cannot be forked from %q", s.From).
			Hint("boxes can be forked from reality only: --from reality")
	}
	if s.Dir != "" && !path.IsAbs(s.Dir) {
		return forkbox.Errorf(forkbox.Invalid, op, "the directory %q is not absolute", s.Dir)
	}
	switch s.Net {
	case "", forkbox.NetNone, forkbox.NetHost:
		return nil
	}
	return forkbox.Errorf(forkbox.Invalid, op, "there is no network %q", s.Net).
		Hint("use --net none or --net host")
}

// addNamed puts the box into the ledger, under a name that is free when the
// user gave none.
func (e *Engine) addNamed(ctx context.Context, box forkbox.Box) (forkbox.Box, error) {
	if box.Name != "" {
		return box, e.ledger.AddBox(ctx, box)
	}
	var err error
	for attempt := range 10 {
		box.Name = friendlyName(attempt)
		if err = e.ledger.AddBox(ctx, box); forkbox.CodeOf(err) != forkbox.Exists {
			return box, err
		}
	}
	return box, err
}

func (e *Engine) prepare(ctx context.Context, box *forkbox.Box) error {
	if err := e.provider.Prepare(ctx, *box); err != nil {
		return err
	}
	ready := *box
	ready.State = forkbox.Stopped
	if err := e.ledger.UpdateBox(ctx, ready); err != nil {
		return err
	}
	*box = ready
	return nil
}

// undoCreate leaves the box in the ledger when its storage cannot be removed:
// a restart, or rm, tries again.
func (e *Engine) undoCreate(ctx context.Context, box forkbox.Box) {
	if err := e.discard(ctx, box); err != nil {
		e.log.Error("cannot remove a box whose creation failed", "box", box.ID, "error", err)
	}
}

// discard removes everything of a box that does not run, the ledger's
// knowledge of it last.
func (e *Engine) discard(ctx context.Context, box forkbox.Box) error {
	if err := e.provider.Remove(ctx, box); err != nil {
		return err
	}
	return e.ledger.DeleteBox(ctx, box.ID)
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}
