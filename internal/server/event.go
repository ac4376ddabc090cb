package server

import (
	"net/http"
	"strconv"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// streamEvents sends one event per line, each as soon as it is there.
func (s *Server) streamEvents(w http.ResponseWriter, r *http.Request) error {
	spec, err := eventSpec(r)
	if err != nil {
		return err
	}
	ctx, cancel := s.lasting(r)
	defer cancel()
	out := &lines{ResponseWriter: w, follow: spec.Follow}
	if spec.Follow {
		// Who follows wants to know that they do, before anything happens. A
		// box that is not there is still an answer with a status of its own.
		if err := s.findBox(r, spec.Box); err != nil {
			return err
		}
		out.begin()
		out.flush()
	}
	err = s.Engine.Events(ctx, who(r), spec.Box, spec.After, spec.Follow, func(event forkbox.Event) error {
		return out.add(client.EventLine{Event: &event})
	})
	if err != nil && s.isStopping() {
		err = forkbox.Errorf(forkbox.Unavailable, "follow the events", "the daemon is stopping")
	}
	return out.end(err, func(e *forkbox.Error) any { return client.EventLine{Error: e} })
}

func (s *Server) findBox(r *http.Request, ref string) error {
	if ref == "" {
		return nil
	}
	_, err := s.Engine.Box(r.Context(), who(r), ref)
	return err
}

func eventSpec(r *http.Request) (spec client.EventSpec, err error) {
	if spec.Follow, err = yesOrNo(r, "follow"); err != nil {
		return spec, err
	}
	q := r.URL.Query()
	spec.Box = q.Get("box")
	if after := q.Get("after"); after != "" {
		spec.After, err = strconv.ParseInt(after, 10, 64)
		if err != nil || spec.After < 0 {
			return spec, forkbox.Errorf(forkbox.Invalid, "understand the request", "after=%q is not the id of an event", after)
		}
	}
	return spec, nil
}
