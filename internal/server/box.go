package server

import (
	"net/http"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/engine"
)

func (s boxRoutes) listBoxes(w http.ResponseWriter, r *http.Request) error {
	boxes, err := s.Engine.Boxes(r.Context(), who(r))
	if err != nil {
		return err
	}
	for i := range boxes {
		boxes[i] = brief(boxes[i])
	}
	return answer(w, http.StatusOK, client.BoxList{Boxes: notNil(boxes)})
}

func (s boxRoutes) createBox(w http.ResponseWriter, r *http.Request) error {
	var req client.CreateRequest
	if err := decode(r, &req); err != nil {
		return err
	}
	if err := checkWish(req.Wish); err != nil {
		return err
	}
	ctx, done := s.waiting(r.Context(), who(r), &req.Wish)
	defer done()
	box, err := s.Engine.Create(ctx, who(r), createSpec(req))
	if err != nil {
		return unqueued(ctx, err)
	}
	return answer(w, http.StatusCreated, brief(box))
}

// createSpec: the wire has less than the engine takes. What a box is made for, its
// fence and the places of secrets a caller does not choose.
func createSpec(req client.CreateRequest) engine.CreateSpec {
	return engine.CreateSpec{
		Name: req.Name, From: req.From, Template: req.Template,
		Dir: req.Dir, Env: req.Env, Net: req.Net, NetWish: req.NetWish, AllowSecrets: req.AllowSecrets, Wish: req.Wish,
		Passing: req.Passing,
	}
}

func (s boxRoutes) getBox(w http.ResponseWriter, r *http.Request) error {
	box, err := s.Engine.Box(r.Context(), who(r), r.PathValue("box"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, box)
}

func (s boxRoutes) startBox(w http.ResponseWriter, r *http.Request) error {
	if err := decodeOptional(r, &struct{}{}); err != nil {
		return err
	}
	return answerBox(w)(s.Engine.Start(r.Context(), who(r), r.PathValue("box")))
}

func (s boxRoutes) stopBox(w http.ResponseWriter, r *http.Request) error {
	var req client.StopRequest
	if err := decodeOptional(r, &req); err != nil {
		return err
	}
	if req.Grace != nil && *req.Grace < 0 {
		return forkbox.Errorf(forkbox.Invalid, "stop box", "the grace of %s is negative", time.Duration(*req.Grace))
	}
	return answerBox(w)(s.Engine.Stop(r.Context(), who(r), r.PathValue("box"), req.Grace))
}

func (s boxRoutes) removeBox(w http.ResponseWriter, r *http.Request) error {
	force := isSet(r, "force")
	if err := s.Engine.Remove(r.Context(), who(r), r.PathValue("box"), force); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func answerBox(w http.ResponseWriter) func(forkbox.Box, error) error {
	return func(box forkbox.Box, err error) error {
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, brief(box))
	}
}

// brief leaves out the environment, which is long; only a look at one box has
// it.
func brief(box forkbox.Box) forkbox.Box {
	box.Env = nil
	return box
}

// isSet reads a yes or no of the query.
func isSet(r *http.Request, name string) bool {
	switch r.URL.Query().Get(name) {
	case "1", "true", "yes":
		return true
	}
	return false
}

// notNil makes an empty list [] in JSON.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
