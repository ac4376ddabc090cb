package snapshots

import (
	"context"
	"fmt"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/network"
)

// maxWarm is how many boxes of a template are kept ready at most.
const maxWarm = 16

// CreateTemplate keeps a snapshot, or a box as it is now, as a start for boxes.
func (m *Manager) CreateTemplate(ctx context.Context, who forkbox.Owner, spec forkbox.TemplateSpec) (t forkbox.Template, err error) {
	const op = "create template"
	if err := checkTemplate(op, spec); err != nil {
		return t, err
	}
	name, snapshot, at := forkbox.SplitRef(spec.From)
	_, err = m.core.Change(ctx, op, who, name, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		unlock, err := m.shelf.LockTemplates(ctx)
		if err != nil {
			return err
		}
		defer unlock()
		if _, err := m.core.Ledger.Template(ctx, who.UID, spec.Name); err == nil {
			return forkbox.Errorf(forkbox.Exists, op, "there is a template %q already", spec.Name).
				Hint("choose another name, or remove that one: forkbox template rm %s", spec.Name)
		}
		s, err := m.SnapshotFor(ctx, h, box, snapshot, at, "template")
		if err != nil {
			return err
		}
		t = forkbox.Template{
			ID: core.NewID(), Name: spec.Name, Owner: who, Message: spec.Message, Created: m.core.Now(),
			From: box.Name + "@" + s.Name, Parent: s.ID, Base: s.Base, Layers: slices.Clone(s.Layers), Services: slices.Clone(box.Services),
			Net: box.Net, Network: network.Inherited(box.Network), Dir: box.Dir, Env: box.Env, AllowSecrets: box.AllowSecrets, Places: box.Places, Warm: spec.Warm,
			Unresolved: s.Unresolved, Lineage: Lineage(*box, s),
		}
		if err := m.core.Ledger.AddTemplate(ctx, t, core.With(m.aboutTemplate(t, forkbox.EventTemplateMade, "of "+t.From), forkbox.EventData{From: t.From})); err != nil {
			return err
		}
		m.shelf.Warm(t)
		return nil
	})
	return t, err
}

// aboutTemplate is an event of a template.
func (m *Manager) aboutTemplate(t forkbox.Template, kind forkbox.EventKind, text string) forkbox.Event {
	return forkbox.Event{Kind: kind, Name: t.Name, Template: t.ID, UID: t.Owner.UID, Time: m.core.Now(), Text: text}
}

func checkTemplate(op string, spec forkbox.TemplateSpec) error {
	switch {
	case !core.ValidName(spec.Name):
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
func (m *Manager) Templates(ctx context.Context, who forkbox.Owner) ([]forkbox.Template, error) {
	ctx, end, err := m.core.Begin(ctx, "list templates")
	if err != nil {
		return nil, err
	}
	defer end()
	return m.core.Ledger.Templates(ctx, &who.UID)
}

// RemoveTemplate forgets a template. Boxes that were made from it live on.
func (m *Manager) RemoveTemplate(ctx context.Context, who forkbox.Owner, name string) error {
	return m.withTemplate(ctx, "remove template", who, name, func(ctx context.Context, t forkbox.Template) error {
		if err := m.core.Ledger.DeleteTemplate(ctx, t.ID, m.aboutTemplate(t, forkbox.EventTemplateRemoved, "it is gone")); err != nil {
			return err
		}
		t.Warm = 0
		m.shelf.Warm(t)
		m.shelf.SweepSoon()
		return nil
	})
}

// WarmTemplate has n boxes of a template be kept ready.
func (m *Manager) WarmTemplate(ctx context.Context, who forkbox.Owner, name string, n int) (t forkbox.Template, err error) {
	const op = "warm template"
	if err := checkWarm(op, n); err != nil {
		return t, err
	}
	err = m.withTemplate(ctx, op, who, name, func(ctx context.Context, found forkbox.Template) error {
		t = found
		t.Warm = n
		if err := m.core.Ledger.UpdateTemplate(ctx, t, core.With(m.aboutTemplate(t, forkbox.EventTemplateWarmed, fmt.Sprintf("%d boxes of it are kept ready", n)), forkbox.EventData{Count: n})); err != nil {
			return err
		}
		m.shelf.Warm(t)
		return nil
	})
	return t, err
}

// withTemplate does something to a template of who's.
func (m *Manager) withTemplate(ctx context.Context, op string, who forkbox.Owner, name string, do func(context.Context, forkbox.Template) error) error {
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return err
	}
	defer end()
	unlock, err := m.shelf.LockTemplates(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	t, err := m.core.Ledger.Template(ctx, who.UID, name)
	if err != nil {
		return err
	}
	return forkbox.Wrap(op, do(context.WithoutCancel(ctx), t))
}
