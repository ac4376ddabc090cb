package server

import (
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func (s netRoutes) getNet(r *http.Request, _ api.None) (doc api.NetDocument, err error) {
	box, err := s.Engine.Box(r.Context(), who(r), r.PathValue("box"))
	if err != nil {
		return doc, err
	}
	doc = api.NetDocument{Box: box.ID, Name: box.Name, State: box.State}
	doc.Net, doc.Network, err = s.Engine.Network(r.Context(), who(r), box.ID)
	return doc, err
}

func (s netRoutes) changeNet(r *http.Request, change api.NetChange) (forkbox.Box, error) {
	rules, remove, err := ruleChange(change)
	if err != nil {
		return forkbox.Box{}, err
	}
	return briefly(s.Engine.Allow(r.Context(), who(r), r.PathValue("box"), rules, remove))
}

// ruleChange is one of the two: both at once could not be all or nothing.
func ruleChange(change api.NetChange) (rules []string, remove bool, err error) {
	const op = "change the network"
	switch {
	case len(change.Add) > 0 && len(change.Remove) > 0:
		return nil, false, forkbox.Errorf(forkbox.Invalid, op, "the request both adds and removes rules").
			Hint("send one request for each")
	case len(change.Add) > 0:
		return change.Add, false, nil
	case len(change.Remove) > 0:
		return change.Remove, true, nil
	}
	return nil, false, forkbox.Errorf(forkbox.Invalid, op, "the request names no rule")
}

// explainNet connects to nothing: it says what would be made of it.
func (s netRoutes) explainNet(r *http.Request, req api.ExplainRequest) (forkbox.NetVerdict, error) {
	if req.Target == "" {
		return forkbox.NetVerdict{}, forkbox.Errorf(forkbox.Invalid, "explain a connection", "the request does not say to where: target is missing")
	}
	return s.Engine.Explain(r.Context(), who(r), r.PathValue("box"), req.Target)
}

// streamConns sends one connection per line, each as soon as it is there.
func (s netRoutes) streamConns(w http.ResponseWriter, r *http.Request, _ api.None) error {
	limit := mostConns
	if r.URL.Query().Has("limit") {
		limit = int(numberOf(r, "limit"))
	}
	if limit < 1 || limit > mostConns {
		return forkbox.Errorf(forkbox.Invalid, "understand the request", "limit=%d is not a number from 1 to %d", limit, mostConns)
	}
	follow := isSet(r, "follow")
	ctx, cancel := s.lasting(r)
	defer cancel()
	out := &lines{ResponseWriter: w, follow: follow}
	ref := r.PathValue("box")
	if follow {
		// Who follows wants to know that they do, before anything is tried. A
		// box that is not there is still an answer with a status of its own.
		if err := s.findBox(r, ref); err != nil {
			return err
		}
		out.begin()
		out.flush()
	}
	err := s.Engine.ConnLog(ctx, who(r), ref, numberOf(r, "after"), limit, follow, func(conn forkbox.Conn) error {
		return out.add(api.ConnLine{Conn: &conn})
	})
	return out.end(s.cutOff(r, "follow the connections", err), func(e *forkbox.Error) any { return api.ConnLine{Error: e} })
}

// mostConns is how many connections one request gets.
const mostConns = 10_000
