package client

import (
	"context"
	"net/http"

	"github.com/forkbox/forkbox"
)

// TemplateList is a list of templates.
type TemplateList struct {
	Templates []forkbox.Template `json:"templates"`
}

// WarmRequest says how many boxes of a template are kept ready. Count has to be
// there: a request without one does not mean none.
type WarmRequest struct {
	Count *int `json:"count"`
}

// CreateTemplate makes a start for boxes out of BOX[@SNAPSHOT].
func (c *Client) CreateTemplate(ctx context.Context, spec forkbox.TemplateSpec) (t forkbox.Template, err error) {
	err = c.call(ctx, "create template "+spec.Name, http.MethodPost, "/templates", spec, &t)
	return t, err
}

// Templates lists the caller's.
func (c *Client) Templates(ctx context.Context) ([]forkbox.Template, error) {
	var list TemplateList
	err := c.call(ctx, "list templates", http.MethodGet, "/templates", nil, &list)
	return list.Templates, err
}

// RemoveTemplate forgets one. Boxes that were made of it stay.
func (c *Client) RemoveTemplate(ctx context.Context, name string) error {
	return c.call(ctx, "remove template "+name, http.MethodDelete, templatePath(name), nil, nil)
}

// WarmTemplate keeps n boxes of a template ready.
func (c *Client) WarmTemplate(ctx context.Context, name string, n int) (t forkbox.Template, err error) {
	err = c.call(ctx, "warm template "+name, http.MethodPost, templatePath(name)+"/warm", WarmRequest{Count: &n}, &t)
	return t, err
}

func templatePath(name string) string { return "/templates/" + segment(name) }
