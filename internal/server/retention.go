package server

import (
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

func (s storeRoutes) keepBox(w http.ResponseWriter, r *http.Request) error {
	var req client.KeepRequest
	if err := decode(r, &req); err != nil {
		return err
	}
	if req.Keep == nil {
		return forkbox.Errorf(forkbox.Invalid, "understand the request", "it does not say whether to keep the box: keep is missing")
	}
	return answerBox(w)(s.Engine.Keep(r.Context(), who(r), r.PathValue("box"), *req.Keep))
}

// collect deletes, so that nothing of its request is guessed.
func (s storeRoutes) collect(w http.ResponseWriter, r *http.Request) error {
	var spec forkbox.GCSpec
	if err := decodeExactly(r, &spec); err != nil {
		return err
	}
	gc, err := s.Engine.GC(r.Context(), who(r), spec)
	if err != nil {
		return err
	}
	gc.Removed, gc.Kept = notNil(gc.Removed), notNil(gc.Kept)
	return answer(w, http.StatusOK, gc)
}

func (s storeRoutes) usage(w http.ResponseWriter, r *http.Request) error {
	usage, err := s.Engine.Usage(r.Context(), who(r))
	if err != nil {
		return err
	}
	usage.Items = notNil(usage.Items)
	return answer(w, http.StatusOK, usage)
}
