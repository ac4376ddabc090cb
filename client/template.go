package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// CreateTemplate makes a start for boxes out of BOX[@SNAPSHOT].
func (c Forks) CreateTemplate(ctx context.Context, spec forkbox.TemplateSpec) (forkbox.Template, error) {
	return do(ctx, c.link, "create template "+spec.Name, api.CreateTemplate, spec, nil)
}

// Templates lists the caller's.
func (c Forks) Templates(ctx context.Context) ([]forkbox.Template, error) {
	list, err := do(ctx, c.link, "list templates", api.ListTemplates, api.None{}, nil)
	return list.Templates, err
}

// RemoveTemplate forgets one. Boxes that were made of it stay.
func (c Forks) RemoveTemplate(ctx context.Context, name string) error {
	_, err := do(ctx, c.link, "remove template "+name, api.RemoveTemplate, api.None{}, nil, name)
	return err
}

// WarmTemplate keeps n boxes of a template ready.
func (c Forks) WarmTemplate(ctx context.Context, name string, n int) (forkbox.Template, error) {
	return do(ctx, c.link, "warm template "+name, api.WarmTemplate, api.WarmRequest{Count: &n}, nil, name)
}
