package server

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/access"
)

// changes says whether a route is one whose calls are in the audit trail also
// when nothing is refused: all that do more than look.
func changes(route *api.Route) bool {
	if slices.Contains(route.Scopes, api.Exec) {
		return true // also where a GET becomes a terminal
	}
	if route == api.CancelOperation.Route {
		return true // it takes the scopes of what it ends
	}
	return route.Method != http.MethodGet && len(route.Scopes) > 0 && !slices.Equal(route.Scopes, []api.Scope{api.Read})
}

// touchesReality: what these do is in the trail before they do it.
func touchesReality(route *api.Route) bool { return slices.Contains(route.Scopes, api.Apply) }

// beginEntry notes what is asked for.
func (s *Server) beginEntry(h handler, c *call, r *http.Request) {
	if s.Trail == nil {
		return
	}
	c.entry = forkbox.Call{Time: time.Now().UTC(), From: c.conn.from, Name: h.Name, Target: targetOf(h.Route, r), Request: c.id}
}

// targetOf is what a request is about: the values in its path.
func targetOf(route *api.Route, r *http.Request) string {
	var values []string
	for rest := route.Path; ; {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			return strings.Join(values, "@")
		}
		name, left, _ := strings.Cut(after, "}")
		values, rest = append(values, r.PathValue(strings.TrimSuffix(name, "..."))), left
	}
}

// announce records a change of reality before it is made, and has the outcome of
// what is recorded at all written with the answer's first byte. Without a trail
// reality is not changed.
func (s *Server) announce(h handler, c *call, w *answerWriter) error {
	if s.Trail == nil || !changes(h.Route) {
		return nil
	}
	w.begin = func(status int) { s.answered(h, c, status) }
	if !touchesReality(h.Route) {
		return nil
	}
	s.enter(c, forkbox.OutcomeBegun, nil)
	if err := s.Trail.Flush(context.Background()); err != nil {
		return forkbox.Errorf(forkbox.Unavailable, "answer", "the audit trail cannot be written: %w", err).
			Hint("nothing was changed; forkbox doctor may say what is wrong with the store")
	}
	return nil
}

// answered is called before the first byte of an answer.
func (s *Server) answered(h handler, c *call, status int) {
	if c.settled || c.turns || status >= http.StatusBadRequest {
		return // the error knows more
	}
	c.settled = true
	outcome := forkbox.OutcomeOK
	if status == http.StatusAccepted {
		outcome = forkbox.OutcomeBegun
	}
	s.enter(c, outcome, nil)
	if touchesReality(h.Route) {
		_ = s.Trail.Flush(context.Background()) // its log says why not
	}
}

// settle records how a call ended, as far as its answer did not.
func (s *Server) settle(h handler, c *call, err error) {
	if s.Trail == nil || c.turns || c.entry.Name == "" && err == nil {
		return
	}
	code := forkbox.CodeOf(err)
	refused := err != nil && (code == forkbox.Denied || code == forkbox.Unauthenticated || code == forkbox.RateLimited)
	if !refused && (!changes(h.Route) || c.settled && err == nil) {
		return
	}
	if c.entry.Name == "" { // refused before it was looked at
		c.entry = forkbox.Call{Time: time.Now().UTC(), From: c.conn.from, Name: h.Name, Request: c.id}
	}
	if err == nil {
		s.enter(c, forkbox.OutcomeOK, nil)
	} else {
		s.enter(c, string(code), err)
	}
	if touchesReality(h.Route) && !refused {
		_ = s.Trail.Flush(context.Background())
	}
}

// enter writes the call's entry, or what became of it.
func (s *Server) enter(c *call, outcome string, err error) {
	e := &c.entry
	e.UID, e.User, e.Kind, e.Via, e.Label = c.Owner.UID, c.Owner.Name, string(c.Kind), c.ID, c.Label
	if e.Outcome = outcome; err != nil {
		e.Why = toError(err).Why
	}
	e.ID = s.Trail.Record(*e)
}

// enterTurn records one of the execs of an upgraded connection.
func (s *Server) enterTurn(r *http.Request, name, target, box string, err error) {
	c := callOf(r)
	if s.Trail == nil {
		return
	}
	turn := &call{Principal: c.Principal, id: c.id, conn: c.conn}
	turn.entry = forkbox.Call{Time: time.Now().UTC(), From: c.conn.from, Name: name, Target: target, Box: box, Request: c.id}
	if err != nil {
		s.enter(turn, string(forkbox.CodeOf(err)), err)
		return
	}
	s.enter(turn, forkbox.OutcomeOK, nil)
}

// noteMade has the trail name what a call made.
func noteMade(r *http.Request, out any) {
	e := &callOf(r).entry
	if e.Name == "" {
		return
	}
	switch made := out.(type) {
	case forkbox.Box:
		e.Box = made.ID
		if e.Target == "" {
			e.Target = made.Name
		}
	case forkbox.Template:
		e.Target = made.Name
	case forkbox.Race:
		e.Target = made.Name
	case api.NewToken:
		e.Target = made.Made.ID
	}
}

// slowDown is what who fails to show who they are is told: beyond so many failures
// from an address it is only that there were too many. Whoever shows a good token is
// never kept from it by others at the same address.
func (s *Server) slowDown(c *call, w http.ResponseWriter, err error) error {
	if forkbox.CodeOf(err) != forkbox.Unauthenticated || !c.conn.outside {
		return err
	}
	if slow := tooOften(s.Failures, c.conn.from, w); slow != nil {
		return slow
	}
	return err
}

func tooOften(rate *access.Rate, who string, w http.ResponseWriter) error {
	wait, ok := rate.Take(who, time.Now())
	if ok {
		return nil
	}
	seconds := int(math.Ceil(wait.Seconds()))
	w.Header().Set("Retry-After", strconv.Itoa(max(1, seconds)))
	return forkbox.Errorf(forkbox.RateLimited, "answer", "there were too many requests").Hint("try again in %ds", max(1, seconds))
}

// readAudit answers with entries of the audit trail.
func (s daemonRoutes) readAudit(r *http.Request, _ api.None) (list api.CallList, err error) {
	const op = "read the audit trail"
	if s.Trail == nil {
		return list, forkbox.Errorf(forkbox.Unsupported, op, "this daemon keeps none")
	}
	q := r.URL.Query()
	filter := forkbox.CallFilter{Who: q.Get("who"), After: numberOf(r, "after"), Limit: mostCalls}
	if limit := int(numberOf(r, "limit")); limit > 0 {
		filter.Limit = min(limit, mostCalls)
	}
	if since := q.Get("since"); since != "" {
		if filter.Since, err = time.Parse(time.RFC3339, since); err != nil {
			return list, forkbox.Errorf(forkbox.Invalid, op, "since=%q is not a time", since).Hint("for example 2026-01-02T15:04:05Z")
		}
	}
	if ref := q.Get("box"); ref != "" {
		filter.Targets = s.namesOf(r, ref)
	}
	calls, err := s.Trail.Read(r.Context(), callOf(r).Principal, filter)
	list.Calls = notNil(calls)
	return list, err
}

// mostCalls is how many entries one answer has.
const mostCalls = 10_000

// namesOf are what a box is called in the trail; one that is gone, as it is asked
// for.
func (s daemonRoutes) namesOf(r *http.Request, ref string) []string {
	names := []string{ref}
	if box, err := s.Engine.Box(r.Context(), who(r), ref); err == nil {
		names = append(names, box.ID, box.Name)
	}
	return names
}
