package engine

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
)

// maxWarm is how many boxes of a template are kept ready at most.
const maxWarm = 16

// warmer is a provider that can keep boxes ready.
type warmer interface {
	// Warm keeps n boxes ready that are built like this one, as long as this
	// program runs; with none it stops doing so. key tells them apart.
	Warm(key string, like forkbox.Box, n int)
	// Warmed says whether any are.
	Warmed() bool
}

// lockTemplates: templates are few and change seldom, so one at a time will do.
func (e *Engine) lockTemplates(ctx context.Context) (unlock func(), err error) {
	select {
	case e.pool <- struct{}{}:
		return func() { <-e.pool }, nil
	case <-ctx.Done():
		return nil, forkbox.Errorf(forkbox.Busy, "use the template", "templates are in use: %w", ctx.Err())
	}
}

// CreateTemplate keeps a snapshot, or a box as it is now, as a start for boxes.
func (e *Engine) CreateTemplate(ctx context.Context, who forkbox.Owner, spec forkbox.TemplateSpec) (t forkbox.Template, err error) {
	const op = "create template"
	if err := checkTemplate(op, spec); err != nil {
		return t, err
	}
	name, snapshot, at := forkbox.SplitRef(spec.From)
	_, err = e.change(ctx, op, who, name, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		unlock, err := e.lockTemplates(ctx)
		if err != nil {
			return err
		}
		defer unlock()
		if _, err := e.ledger.Template(ctx, who.UID, spec.Name); err == nil {
			return forkbox.Errorf(forkbox.Exists, op, "there is a template %q already", spec.Name).
				Hint("choose another name, or remove that one: forkbox template rm %s", spec.Name)
		}
		s, err := e.snapshotFor(ctx, h, box, snapshot, at, "template")
		if err != nil {
			return err
		}
		t = forkbox.Template{
			ID: newID(), Name: spec.Name, Owner: who, Message: spec.Message, Created: e.now(),
			From: box.Name + "@" + s.Name, Parent: s.ID, Base: s.Base, Layers: slices.Clone(s.Layers),
			Net: box.Net, Network: inherited(box.Network), Dir: box.Dir, Env: box.Env, AllowSecrets: box.AllowSecrets, Places: box.Places, Warm: spec.Warm,
			Unresolved: s.Unresolved, Lineage: lineage(*box, s),
		}
		if err := e.ledger.AddTemplate(ctx, t); err != nil {
			return err
		}
		e.warm(t)
		return nil
	})
	return t, err
}

func checkTemplate(op string, spec forkbox.TemplateSpec) error {
	switch {
	case !validName(spec.Name):
		return forkbox.Errorf(forkbox.Invalid, op, "%q is not a name for a template", spec.Name).
			Hint("use up to 63 lower-case letters, digits and dashes, not a dash first")
	case spec.From == "":
		return forkbox.Errorf(forkbox.Invalid, op, "it is not said of what").Hint("use --from BOX@SNAPSHOT")
	}
	return checkWarm(op, spec.Warm)
}

func checkWarm(op string, n int) error {
	if n < 0 || n > maxWarm {
		return forkbox.Errorf(forkbox.Invalid, op, "%d boxes cannot be kept ready", n).
			Hint("it is between 0 and %d", maxWarm)
	}
	return nil
}

// Templates lists who's, oldest first.
func (e *Engine) Templates(ctx context.Context, who forkbox.Owner) ([]forkbox.Template, error) {
	ctx, end, err := e.begin(ctx, "list templates")
	if err != nil {
		return nil, err
	}
	defer end()
	return e.ledger.Templates(ctx, &who.UID)
}

// RemoveTemplate forgets a template. Boxes that were made from it live on.
func (e *Engine) RemoveTemplate(ctx context.Context, who forkbox.Owner, name string) error {
	return e.withTemplate(ctx, "remove template", who, name, func(ctx context.Context, t forkbox.Template) error {
		if err := e.ledger.DeleteTemplate(ctx, t.ID); err != nil {
			return err
		}
		t.Warm = 0
		e.warm(t)
		e.sweepSoon()
		return nil
	})
}

// WarmTemplate has n boxes of a template be kept ready.
func (e *Engine) WarmTemplate(ctx context.Context, who forkbox.Owner, name string, n int) (t forkbox.Template, err error) {
	const op = "warm template"
	if err := checkWarm(op, n); err != nil {
		return t, err
	}
	err = e.withTemplate(ctx, op, who, name, func(ctx context.Context, found forkbox.Template) error {
		t = found
		t.Warm = n
		if err := e.ledger.UpdateTemplate(ctx, t); err != nil {
			return err
		}
		e.warm(t)
		return nil
	})
	return t, err
}

// withTemplate does something to a template of who's.
func (e *Engine) withTemplate(ctx context.Context, op string, who forkbox.Owner, name string, do func(context.Context, forkbox.Template) error) error {
	ctx, end, err := e.begin(ctx, op)
	if err != nil {
		return err
	}
	defer end()
	unlock, err := e.lockTemplates(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	t, err := e.ledger.Template(ctx, who.UID, name)
	if err != nil {
		return err
	}
	return forkbox.Wrap(op, do(context.WithoutCancel(ctx), t))
}

// warm keeps the boxes of a template ready that it asks for.
func (e *Engine) warm(t forkbox.Template) {
	if w, ok := e.provider.(warmer); ok {
		w.Warm(t.ID, boxOf(t), t.Warm)
	}
}

// warmAll does so after a restart.
func (e *Engine) warmAll(ctx context.Context) error {
	templates, err := e.ledger.Templates(ctx, nil)
	for _, t := range templates {
		if t.Warm > 0 {
			e.warm(t)
		}
	}
	return err
}

// boxOf is what a box of the template begins as.
func boxOf(t forkbox.Template) forkbox.Box {
	return forkbox.Box{
		Base: t.Base, Layers: slices.Clone(t.Layers), Owner: t.Owner, Net: t.Net, Network: t.Network, Dir: t.Dir, Env: t.Env,
		AllowSecrets: t.AllowSecrets, Places: t.Places, Parent: t.ID,
	}
}

// fromTemplate makes a box that begins as a template. With a template that is
// kept warm it takes over one that is ready.
func (e *Engine) fromTemplate(ctx context.Context, who forkbox.Owner, spec CreateSpec) (forkbox.Box, error) {
	unlock, err := e.lockTemplates(ctx)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer unlock() // until the box is in the ledger nothing else holds its layers
	t, err := e.ledger.Template(ctx, who.UID, spec.Template)
	if err != nil {
		return forkbox.Box{}, err
	}
	spec.Dir = orElse(spec.Dir, t.Dir)
	spec.AllowSecrets = slices.Concat(t.AllowSecrets, spec.AllowSecrets)
	spec.Places = slices.Concat(t.Places, spec.Places)
	box, err := e.newBox(who, spec)
	if err != nil {
		return box, err
	}
	begin := boxOf(t)
	box.Base, box.Layers, box.Parent = begin.Base, begin.Layers, t.ID
	box.Unresolved, box.Lineage = t.Unresolved, t.Lineage
	if spec.Env == nil || !t.Base.IsReality() {
		box.Env = t.Env
	}
	if !t.Base.IsReality() {
		box.Dir = t.Dir
	}
	return e.add(ctx, box, func(box forkbox.Box) {
		if n := len(t.Lineage); n > 0 {
			e.inherit(t.Lineage[n-1].Box, box)
		}
	})
}
