package server

import (
	"net/http"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func (s snapshotRoutes) listTemplates(r *http.Request, _ api.None) (list api.TemplateList, err error) {
	all, err := s.Engine.Templates(r.Context(), who(r))
	if err != nil {
		return list, err
	}
	for i := range all {
		all[i] = briefTemplate(all[i])
	}
	list.Templates, list.Next, err = page(r, all, func(t forkbox.Template) (time.Time, string) { return t.Created, t.ID })
	return list, err
}

func (s snapshotRoutes) createTemplate(r *http.Request, spec forkbox.TemplateSpec) (forkbox.Template, error) {
	if err := checkWarm(spec.Warm); err != nil {
		return forkbox.Template{}, err
	}
	template, err := s.Engine.CreateTemplate(r.Context(), who(r), spec)
	return briefTemplate(template), err
}

func (s snapshotRoutes) removeTemplate(r *http.Request, _ api.None) (api.None, error) {
	return api.None{}, s.Engine.RemoveTemplate(r.Context(), who(r), r.PathValue("template"))
}

func (s snapshotRoutes) warmTemplate(r *http.Request, req api.WarmRequest) (forkbox.Template, error) {
	if req.Count == nil {
		return forkbox.Template{}, missing("count", "how many boxes")
	}
	if err := checkWarm(*req.Count); err != nil {
		return forkbox.Template{}, err
	}
	template, err := s.Engine.WarmTemplate(r.Context(), who(r), r.PathValue("template"), *req.Count)
	return briefTemplate(template), err
}

func checkWarm(n int) error {
	if n < 0 {
		return forkbox.Errorf(forkbox.Invalid, "warm a template", "%d boxes cannot be kept ready", n)
	}
	return nil
}

// briefTemplate is brief for templates, of which no route has the environment.
func briefTemplate(t forkbox.Template) forkbox.Template {
	t.Env = nil
	return t
}
