package server

import (
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// setLimits changes limits that hold, so that nothing of its request is
// guessed.
func (s limitRoutes) setLimits(w http.ResponseWriter, r *http.Request) error {
	var wish forkbox.Wish
	if err := decodeExactly(r, &wish); err != nil {
		return err
	}
	if err := checkChange(wish); err != nil {
		return err
	}
	return answerBox(w)(s.Engine.Set(r.Context(), who(r), r.PathValue("box"), wish))
}

func (s limitRoutes) extendBox(w http.ResponseWriter, r *http.Request) error {
	var req client.ExtendRequest
	if err := decodeExactly(r, &req); err != nil {
		return err
	}
	if req.By <= 0 {
		return forkbox.Errorf(forkbox.Invalid, "extend box "+r.PathValue("box"), "by_ns is %d, not a time above zero", req.By)
	}
	return answerBox(w)(s.Engine.Extend(r.Context(), who(r), r.PathValue("box"), req.By))
}

func (s limitRoutes) pauseBox(w http.ResponseWriter, r *http.Request) error {
	if err := decodeOptional(r, &struct{}{}); err != nil {
		return err
	}
	return answerBox(w)(s.Engine.Pause(r.Context(), who(r), r.PathValue("box")))
}

func (s limitRoutes) resumeBox(w http.ResponseWriter, r *http.Request) error {
	if err := decodeOptional(r, &struct{}{}); err != nil {
		return err
	}
	return answerBox(w)(s.Engine.Resume(r.Context(), who(r), r.PathValue("box")))
}

func (s limitRoutes) listHolds(w http.ResponseWriter, r *http.Request) error {
	holds := s.Engine.Holds(r.Context())
	if holds == nil {
		holds = map[forkbox.Resource]forkbox.Holding{}
	}
	return answer(w, http.StatusOK, client.HoldList{Holds: holds})
}

// wouldLimit is what a box would get. It makes none.
func (s limitRoutes) wouldLimit(w http.ResponseWriter, r *http.Request) error {
	var wish forkbox.Wish
	if err := decodeExactly(r, &wish); err != nil {
		return err
	}
	if err := checkWish(wish); err != nil {
		return err
	}
	policy, err := s.Engine.Policy(r.Context(), who(r), wish)
	if err != nil {
		return err
	}
	if policy == nil {
		policy = forkbox.Policy{}
	}
	return answer(w, http.StatusOK, client.PolicyDocument{Policy: policy})
}
