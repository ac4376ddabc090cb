package server

import (
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func (s limitRoutes) setLimits(r *http.Request, wish forkbox.Wish) (forkbox.Box, error) {
	if err := checkChange(wish); err != nil {
		return forkbox.Box{}, err
	}
	return briefly(s.Engine.Set(r.Context(), who(r), r.PathValue("box"), wish))
}

func (s limitRoutes) extendBox(r *http.Request, req api.ExtendRequest) (forkbox.Box, error) {
	if req.By <= 0 {
		return forkbox.Box{}, forkbox.Errorf(forkbox.Invalid, "extend box "+r.PathValue("box"), "by_ns is %d, not a time above zero", req.By)
	}
	return briefly(s.Engine.Extend(r.Context(), who(r), r.PathValue("box"), req.By))
}

func (s limitRoutes) pauseBox(r *http.Request, _ api.None) (forkbox.Box, error) {
	return briefly(s.Engine.Pause(r.Context(), who(r), r.PathValue("box")))
}

func (s limitRoutes) resumeBox(r *http.Request, _ api.None) (forkbox.Box, error) {
	return briefly(s.Engine.Resume(r.Context(), who(r), r.PathValue("box")))
}

func (s limitRoutes) listLimits(r *http.Request, _ api.None) (api.HoldList, error) {
	holds := s.Engine.Holds(r.Context())
	if holds == nil {
		holds = map[forkbox.Resource]forkbox.Holding{}
	}
	return api.HoldList{Holds: holds}, nil
}

// tryLimits is what a box would get. It makes none.
func (s limitRoutes) tryLimits(r *http.Request, wish forkbox.Wish) (doc api.PolicyDocument, err error) {
	if err := checkWish(wish); err != nil {
		return doc, err
	}
	if doc.Policy, err = s.Engine.Policy(r.Context(), who(r), wish); doc.Policy == nil {
		doc.Policy = forkbox.Policy{}
	}
	return doc, err
}

func (s limitRoutes) getStats(r *http.Request, _ api.None) (forkbox.BoxStats, error) {
	return s.Engine.Stats(r.Context(), who(r), r.PathValue("box"), isSet(r, "series"))
}

func (s limitRoutes) listStats(r *http.Request, _ api.None) (api.StatsList, error) {
	list, err := s.Engine.AllStats(r.Context(), who(r))
	return api.StatsList{Boxes: notNil(list)}, err
}
