package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/engine"
	"github.com/forkbox/forkbox/internal/replay"
)

// serveOnce serves a request. One that has a key, and had it before, is answered
// as it was then.
func (s *Server) serveOnce(h handler, w *answerWriter, r *http.Request) error {
	if len(r.Header.Values(api.KeyHeader)) == 0 || !h.Keyed && r.Method != http.MethodPost {
		return s.serveWork(h, w, r) // the other methods can be repeated as they are
	}
	key, err := s.keyOf(h.Route, r)
	if err != nil {
		return err
	}
	asked, err := readAsked(h.Route, r, key)
	if err != nil {
		return err
	}
	turn, err := s.beginKeyed(r, key, asked)
	if err != nil {
		return err
	}
	defer turn.Leave()
	defer clear(asked.text) // there may be a secret in it
	if turn.Again() {
		return s.answerAgain(turn, asked, w, r)
	}
	return s.serveFirst(h, turn, asked, w, r)
}

// keyOf is the key of a request. One that would promise what it does not hold is
// refused.
func (s *Server) keyOf(route *api.Route, r *http.Request) (key replay.Key, err error) {
	const op = "understand the request"
	form, err := outputForm(r)
	switch {
	case err != nil:
		return key, err
	case !route.Keyed && route.Answer == api.JSONAnswer:
		return key, forkbox.Errorf(forkbox.Invalid, op, "%s takes no %s", route.Name, api.KeyHeader).Hint("it can be repeated as it is")
	case !route.Keyed || route.Lines != nil && (form != "" || upgrades(r)):
		return key, forkbox.Errorf(forkbox.Invalid, op, "%s takes no %s here", route.Name, api.KeyHeader).
			Hint("an answer that is a stream cannot be given again: start the command without stream, and read its log")
	case s.Keys == nil:
		return key, forkbox.Errorf(forkbox.Unsupported, op, "this daemon keeps no answers")
	case len(r.Header.Values(api.KeyHeader)) > 1:
		return key, forkbox.Errorf(forkbox.Invalid, op, "%s is there twice", api.KeyHeader)
	}
	key, err = replay.ParseKey(r.Header.Get(api.KeyHeader), callOf(r).Key(), who(r).UID)
	if err == nil && key.Guessable() && route == api.CreateToken.Route {
		return key, forkbox.Errorf(forkbox.Invalid, op, "its key is shorter than %d characters, and what it seals is a token", replay.Random).
			Hint("take a random one, such as a UUID")
	}
	return key, err
}

// asked is what a request asks for.
type asked struct {
	sum  hash.Hash
	text []byte    // the body
	rest io.Reader // what was not read yet, of a body that is taken as it comes
}

// readAsked reads a request so that it can be served afterwards.
func readAsked(route *api.Route, r *http.Request, key replay.Key) (*asked, error) {
	a := &asked{sum: key.Print()}
	fmt.Fprintf(a.sum, "%s %s?%s\n", r.Method, r.URL.EscapedPath(), r.URL.RawQuery)
	body := r.Body.(boundedBody)
	if route.Body == api.RawBody {
		a.rest = io.TeeReader(body.whole, a.sum)
		body.whole = readCloser{a.rest, body.whole}
		r.Body = body
		return a, nil
	}
	var err error
	if a.text, err = io.ReadAll(body); err != nil {
		return nil, badRequest(err)
	}
	a.sum.Write(a.text)
	body.ReadCloser = readCloser{bytes.NewReader(a.text), body.whole}
	r.Body = body
	return a, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// print is of what is known to be asked; nil while the body is not read.
func (a *asked) print() []byte {
	if a.rest != nil {
		return nil
	}
	return a.sum.Sum(nil)
}

// readRest reads what is left of the body, for its print.
func (a *asked) readRest() error {
	if a.rest == nil {
		return nil
	}
	_, err := io.Copy(io.Discard, a.rest)
	a.rest = nil
	return err
}

func (s *Server) beginKeyed(r *http.Request, key replay.Key, a *asked) (*replay.Turn, error) {
	ctx, cancel := s.lasting(r)
	defer cancel()
	turn, err := s.Keys.Begin(ctx, key, callOf(r).id, a.print())
	if err != nil && s.isStopping() {
		return nil, forkbox.Errorf(forkbox.Unavailable, "answer", "the daemon is stopping").Hint("try again, with the same key")
	}
	return turn, err
}

// serveFirst serves a request that was not made before, and keeps its answer before
// it is given. One that was refused, or given up, did nothing: a repeat is done.
func (s *Server) serveFirst(h handler, turn *replay.Turn, a *asked, w *answerWriter, r *http.Request) error {
	held := replay.Hold(w.ResponseWriter)
	w.ResponseWriter = held
	err := s.serveWork(h, w, r)
	w.ResponseWriter = held.ResponseWriter
	ctx := context.WithoutCancel(r.Context())
	switch internal := forkbox.CodeOf(err) == forkbox.Internal && !errors.Is(err, context.Canceled); {
	case err == nil:
		_ = a.readRest() // receive has
		turn.Keep(ctx, a.print(), held.Status, held.Body.Bytes())
	case internal: // there may be something of it left
		_ = a.readRest()
		text, _ := json.Marshal(toError(err))
		turn.Keep(ctx, a.print(), http.StatusInternalServerError, text)
	default:
		turn.Free(ctx)
	}
	held.Release()
	return err
}

// answerAgain gives an answer that was given before.
func (s *Server) answerAgain(turn *replay.Turn, a *asked, w *answerWriter, r *http.Request) error {
	if err := a.readRest(); err != nil {
		return badRequest(err)
	}
	if !turn.Matches(a.print()) {
		return forkbox.Errorf(forkbox.Invalid, "answer", "its key was another request's").
			Hint("a key is for one request: take a new one, or send exactly what was sent with it first")
	}
	if turn.Lost() {
		return s.lostAnswer(turn, r)
	}
	status, body, err := turn.Answer()
	if err != nil {
		return err
	}
	callOf(r).entry.Why = "it was done before, and is answered again"
	w.Header().Set(api.ReplayedHeader, "true")
	switch {
	case status >= http.StatusBadRequest:
		failed := new(forkbox.Error)
		if err := json.Unmarshal(body, failed); err != nil {
			return forkbox.Wrap("read an answer", err)
		}
		return failed
	case body == nil:
		return forkbox.Errorf(forkbox.Conflict, "answer again", "it was done, and its answer was too long to be kept").
			Hint("look for what it made: %s", lookFor(turn))
	case len(body) > 0:
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone is not an error of the request
	return nil
}

// lostAnswer says what is known of a request whose daemon ended before it was
// answered: events are written in one step with what they tell of, and name it.
func (s *Server) lostAnswer(turn *replay.Turn, r *http.Request) error {
	first, after := turn.First()
	var told []string
	err := s.Engine.Events(r.Context(), who(r), engine.EventSpec{After: after}, func(e forkbox.Event) error {
		if e.Request == first && len(told) < mostTold {
			told = append(told, subjectOf(e))
		}
		return nil
	})
	if err != nil {
		return err
	}
	why := "nothing is on record that it did"
	if len(told) > 0 {
		why = "on record is " + strings.Join(told, ", ")
	}
	return forkbox.Errorf(forkbox.Conflict, "answer again", "the daemon ended before it had answered the first request with this key: %s", why).
		Hint("see what there is: %s", lookFor(turn)).
		Hint("to have it done, or done again, take another key")
}

// mostTold is how many events such an answer names.
const mostTold = 20

// subjectOf names an event, and what it is about.
func subjectOf(e forkbox.Event) string {
	subject := string(e.Kind)
	for _, id := range []string{e.Box, e.Name, e.Exec, e.Snapshot, e.Template, e.Receipt, e.Race, e.Secret, e.Token} {
		if id != "" {
			subject += " " + id
		}
	}
	return subject
}

func lookFor(turn *replay.Turn) string {
	request, after := turn.First()
	return fmt.Sprintf("GET /v1/events?after=%d, those of request %s", after, request)
}
