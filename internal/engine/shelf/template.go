package shelf

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
)

// Warmer is a provider that can keep boxes ready.
type Warmer interface {
	// Warm keeps n boxes ready that are built like this one, as long as this
	// program runs; with none it stops doing so. key tells them apart.
	Warm(key string, like forkbox.Box, n int)
	// Warmed says whether any are.
	Warmed() bool
}

// LockTemplates: templates are few and change seldom, so one at a time will do.
func (m *Manager) LockTemplates(ctx context.Context) (unlock func(), err error) {
	select {
	case m.templates <- struct{}{}:
		return func() { <-m.templates }, nil
	case <-ctx.Done():
		return nil, forkbox.Errorf(forkbox.Busy, "use the template", "templates are in use: %w", ctx.Err())
	}
}

// Warm keeps the boxes of a template ready that it asks for.
func (m *Manager) Warm(t forkbox.Template) {
	if w, ok := m.core.Provider.(Warmer); ok {
		w.Warm(t.ID, BoxOf(t), t.Warm)
	}
}

// WarmAll does so after a restart.
func (m *Manager) WarmAll(ctx context.Context) error {
	templates, err := m.core.Ledger.Templates(ctx, nil)
	for _, t := range templates {
		if t.Warm > 0 {
			m.Warm(t)
		}
	}
	return err
}

// BoxOf is what a box of the template begins as.
func BoxOf(t forkbox.Template) forkbox.Box {
	return forkbox.Box{
		Base: t.Base, Layers: slices.Clone(t.Layers), Services: slices.Clone(t.Services), Owner: t.Owner, Net: t.Net, Network: t.Network, Dir: t.Dir, Env: t.Env,
		AllowSecrets: t.AllowSecrets, Places: t.Places, Parent: t.ID,
	}
}
