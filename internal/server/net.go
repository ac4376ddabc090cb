package server

import (
	"net/http"
	"strconv"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

func (s netRoutes) getNet(w http.ResponseWriter, r *http.Request) error {
	box, err := s.Engine.Box(r.Context(), who(r), r.PathValue("box"))
	if err != nil {
		return err
	}
	doc := client.NetDocument{Box: box.ID, Name: box.Name, State: box.State}
	if doc.Net, doc.Network, err = s.Engine.Network(r.Context(), who(r), box.ID); err != nil {
		return err
	}
	return answer(w, http.StatusOK, doc)
}

// changeNet changes what a box may reach, so that nothing of its request is
// guessed.
func (s netRoutes) changeNet(w http.ResponseWriter, r *http.Request) error {
	var change client.NetChange
	if err := decodeExactly(r, &change); err != nil {
		return err
	}
	rules, remove, err := ruleChange(change)
	if err != nil {
		return err
	}
	return answerBox(w)(s.Engine.Allow(r.Context(), who(r), r.PathValue("box"), rules, remove))
}

// ruleChange is one of the two: both at once could not be all or nothing.
func ruleChange(change client.NetChange) (rules []string, remove bool, err error) {
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
func (s netRoutes) explainNet(w http.ResponseWriter, r *http.Request) error {
	var req client.ExplainRequest
	if err := decodeExactly(r, &req); err != nil {
		return err
	}
	if req.Target == "" {
		return forkbox.Errorf(forkbox.Invalid, "explain a connection", "the request does not say to where: target is missing")
	}
	verdict, err := s.Engine.Explain(r.Context(), who(r), r.PathValue("box"), req.Target)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, verdict)
}

// streamConns sends one connection per line, each as soon as it is there.
func (s netRoutes) streamConns(w http.ResponseWriter, r *http.Request) error {
	spec, err := connSpec(r)
	if err != nil {
		return err
	}
	ctx, cancel := s.lasting(r)
	defer cancel()
	out := &lines{ResponseWriter: w, follow: spec.Follow}
	ref := r.PathValue("box")
	if spec.Follow {
		// Who follows wants to know that they do, before anything is tried. A
		// box that is not there is still an answer with a status of its own.
		if err := s.findBox(r, ref); err != nil {
			return err
		}
		out.begin()
		out.flush()
	}
	err = s.Engine.ConnLog(ctx, who(r), ref, spec.After, spec.Limit, spec.Follow, func(conn forkbox.Conn) error {
		return out.add(client.ConnLine{Conn: &conn})
	})
	if err != nil && s.isStopping() {
		err = forkbox.Errorf(forkbox.Unavailable, "follow the connections", "the daemon is stopping")
	}
	return out.end(err, func(e *forkbox.Error) any { return client.ConnLine{Error: e} })
}

// mostConns is how many connections one request gets.
const mostConns = 10_000

func connSpec(r *http.Request) (spec client.ConnSpec, err error) {
	const op = "understand the request"
	if spec.Follow, err = yesOrNo(r, "follow"); err != nil {
		return spec, err
	}
	q := r.URL.Query()
	if after := q.Get("after"); after != "" {
		spec.After, err = strconv.ParseInt(after, 10, 64)
		if err != nil || spec.After < 0 {
			return spec, forkbox.Errorf(forkbox.Invalid, op, "after=%q is not the id of a connection", after)
		}
	}
	spec.Limit = mostConns
	if limit := q.Get("limit"); limit != "" {
		spec.Limit, err = strconv.Atoi(limit)
		if err != nil || spec.Limit < 1 || spec.Limit > mostConns {
			return spec, forkbox.Errorf(forkbox.Invalid, op, "limit=%q is not a number from 1 to %d", limit, mostConns)
		}
	}
	return spec, nil
}
