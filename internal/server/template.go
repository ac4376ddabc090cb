package server

import (
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

func (s snapshotRoutes) listTemplates(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Engine.Templates(r.Context(), who(r))
	if err != nil {
		return err
	}
	for i := range list {
		list[i] = briefTemplate(list[i])
	}
	return answer(w, http.StatusOK, client.TemplateList{Templates: notNil(list)})
}

func (s snapshotRoutes) createTemplate(w http.ResponseWriter, r *http.Request) error {
	var spec forkbox.TemplateSpec
	if err := decode(r, &spec); err != nil {
		return err
	}
	if err := checkWarm(spec.Warm); err != nil {
		return err
	}
	template, err := s.Engine.CreateTemplate(r.Context(), who(r), spec)
	if err != nil {
		return err
	}
	return answer(w, http.StatusCreated, briefTemplate(template))
}

func (s snapshotRoutes) removeTemplate(w http.ResponseWriter, r *http.Request) error {
	return done(w, s.Engine.RemoveTemplate(r.Context(), who(r), r.PathValue("template")))
}

func (s snapshotRoutes) warmTemplate(w http.ResponseWriter, r *http.Request) error {
	var req client.WarmRequest
	if err := decode(r, &req); err != nil {
		return err
	}
	if req.Count == nil {
		return forkbox.Errorf(forkbox.Invalid, "understand the request", "it does not say how many boxes: count is missing")
	}
	if err := checkWarm(*req.Count); err != nil {
		return err
	}
	template, err := s.Engine.WarmTemplate(r.Context(), who(r), r.PathValue("template"), *req.Count)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, briefTemplate(template))
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
