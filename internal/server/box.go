package server

import (
	"net/http"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/engine"
)

func (s boxRoutes) listBoxes(r *http.Request, _ api.None) (list api.BoxList, err error) {
	boxes, err := s.Engine.Boxes(r.Context(), who(r))
	if err != nil {
		return list, err
	}
	for i := range boxes {
		boxes[i] = brief(boxes[i])
	}
	list.Boxes, list.Next, err = page(r, boxes, func(b forkbox.Box) (time.Time, string) { return b.Created, b.ID })
	return list, err
}

func (s boxRoutes) createBox(r *http.Request, req api.CreateRequest) (forkbox.Box, error) {
	if err := checkWish(req.Wish); err != nil {
		return forkbox.Box{}, err
	}
	ctx, done := s.waiting(r.Context(), who(r), &req.Wish)
	defer done()
	box, err := s.Engine.Create(ctx, who(r), createSpec(req, who(r)))
	return brief(box), unqueued(ctx, err)
}

// orUsual is the environment of a fork of reality: the caller's where one was
// sent, or what programs of that user cannot do without.
func orUsual(env forkbox.Strings, from, template string, owner forkbox.Owner) forkbox.Strings {
	if env != nil || template != "" || from != "" && from != forkbox.Reality {
		return env
	}
	return forkbox.Strings{
		"HOME=" + owner.Home, "USER=" + owner.Name, "LOGNAME=" + owner.Name, "LANG=C.UTF-8",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}
}

// createSpec: the wire has less than the engine takes. What a box is made for, its
// fence and the places of secrets a caller does not choose.
func createSpec(req api.CreateRequest, owner forkbox.Owner) engine.CreateSpec {
	return engine.CreateSpec{
		Name: req.Name, From: req.From, Template: req.Template,
		Dir: req.Dir, Env: orUsual(req.Env, req.From, req.Template, owner), Net: req.Net, NetWish: req.NetWish, AllowSecrets: req.AllowSecrets, Wish: req.Wish,
		Passing: req.Passing, With: req.With, Pause: req.Pause, Settings: req.Services,
	}
}

func (s boxRoutes) getBox(r *http.Request, _ api.None) (forkbox.Box, error) {
	box, err := s.Engine.Box(r.Context(), who(r), r.PathValue("box"))
	box.Env = shownEnv(r, box.Env)
	return box, err
}

func (s boxRoutes) startBox(r *http.Request, _ api.None) (forkbox.Box, error) {
	return briefly(s.Engine.Start(r.Context(), who(r), r.PathValue("box")))
}

func (s boxRoutes) stopBox(r *http.Request, req api.StopRequest) (forkbox.Box, error) {
	if req.Grace != nil && *req.Grace < 0 {
		return forkbox.Box{}, forkbox.Errorf(forkbox.Invalid, "stop box", "the grace of %s is negative", time.Duration(*req.Grace))
	}
	return briefly(s.Engine.Stop(r.Context(), who(r), r.PathValue("box"), req.Grace))
}

func (s boxRoutes) removeBox(r *http.Request, _ api.None) (api.None, error) {
	return api.None{}, s.Engine.Remove(r.Context(), who(r), r.PathValue("box"), isSet(r, "force"))
}

func (s boxRoutes) keepBox(r *http.Request, req api.KeepRequest) (forkbox.Box, error) {
	if req.Keep == nil {
		return forkbox.Box{}, missing("keep", "whether to keep the box")
	}
	return briefly(s.Engine.Keep(r.Context(), who(r), r.PathValue("box"), *req.Keep))
}

func (s boxRoutes) listProcesses(r *http.Request, _ api.None) (api.ProcessList, error) {
	processes, err := s.Engine.Processes(r.Context(), who(r), r.PathValue("box"))
	return api.ProcessList{Processes: notNil(processes)}, err
}

func briefly(box forkbox.Box, err error) (forkbox.Box, error) { return brief(box), err }

// brief leaves out the environment, which is long; only a look at one box has
// it.
func brief(box forkbox.Box) forkbox.Box {
	box.Env = nil
	return box
}

// missing refuses a request that does not say what must not be guessed.
func missing(name, what string) error {
	return forkbox.Errorf(forkbox.Invalid, "understand the request", "it does not say %s: %s is missing", what, name)
}

// notNil makes an empty list [] in JSON.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
