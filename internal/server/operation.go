package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/access"
	"github.com/forkbox/forkbox/internal/engine"
	"github.com/forkbox/forkbox/internal/operations"
	"github.com/forkbox/forkbox/internal/replay"
)

// longestResult is how long what an operation came to may be to be kept with it.
const longestResult = 1 << 20

// serveWork serves a request. What may take long is an operation meanwhile, also where
// its caller waits for it.
func (s *Server) serveWork(h handler, w *answerWriter, r *http.Request) error {
	if !h.Long || s.Operations == nil {
		return h.serve(s, w, r)
	}
	op := forkbox.Operation{Kind: h.Name, Target: targetOf(h.Route, r), Request: callOf(r).id, UID: who(r).UID}
	if h.Async && prefersAsync(r) {
		op.Async = true
		return s.detachWork(h, op, w, r)
	}
	ctx, running, err := s.Operations.Begin(r.Context(), op)
	if err != nil {
		return err
	}
	r = r.WithContext(ctx)
	measureBytes(ctx, w, r)
	err = s.work(h, w, r)
	running.End(ctx, nil, orNil(err))
	return sayCancelled(ctx, err)
}

// sayCancelled is err, or that the operation was cancelled, or its caller's right ended,
// where it comes of that.
func sayCancelled(ctx context.Context, err error) error {
	if ended := access.Ended(ctx); ended != nil && err != nil {
		return ended
	}
	if err == nil || !errors.Is(context.Cause(ctx), operations.ErrCancelled) {
		return err
	}
	return forkbox.Errorf(forkbox.Conflict, toError(err).Op, "%w", operations.ErrCancelled)
}

// work serves, and makes an error of a panic: whoever follows is to hear of its end.
func (s *Server) work(h handler, w *answerWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("panic", "operation", h.Name, "id", callOf(r).id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = forkbox.Errorf(forkbox.Internal, "answer", "a defect in the daemon: %v", p).Hint("the daemon's log has the details")
		}
	}()
	return h.serve(s, w, r)
}

// orNil is an error as an operation has it.
func orNil(err error) *forkbox.Error {
	if err == nil {
		return nil
	}
	return toError(err)
}

// prefersAsync says whether a caller does not want to wait.
func prefersAsync(r *http.Request) bool {
	for _, line := range r.Header.Values("Prefer") {
		for _, p := range strings.Split(line, ",") {
			if strings.EqualFold(strings.TrimSpace(p), api.RespondAsync) {
				return true
			}
		}
	}
	return false
}

// measureBytes has bytes that are brought, or taken away, be an operation's progress.
func measureBytes(ctx context.Context, w *answerWriter, r *http.Request) {
	report := forkbox.ReportOf(ctx)
	body := r.Body.(boundedBody)
	body.whole = readCloser{&measured{Reader: body.whole, total: max(0, r.ContentLength), report: report}, body.whole}
	r.Body = body
	w.sent = func(n int64) { report(forkbox.Progress{Step: "sending", Done: n, Unit: "bytes"}) }
}

// measured tells how much was read of it, a report for each so many bytes.
type measured struct {
	io.Reader
	read, told, total int64
	report            func(forkbox.Progress)
}

const tellEvery = 1 << 20

func (m *measured) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if m.read += int64(n); m.read-m.told >= tellEvery {
		m.told = m.read
		m.report(forkbox.Progress{Step: "receiving", Done: m.read, Total: m.total, Unit: "bytes"})
	}
	return n, err
}

// detachWork answers with an operation, and does the work without its caller.
func (s *Server) detachWork(h handler, op forkbox.Operation, w *answerWriter, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return badRequest(err)
	}
	ctx, running, err := s.Operations.Begin(context.WithoutCancel(r.Context()), op)
	if err != nil {
		return err
	}
	op = running.Operation()
	w.Header().Set("Location", api.GetOperation.URL(nil, op.ID))
	w.Header().Set("Preference-Applied", api.RespondAsync)
	_ = answer(w, http.StatusAccepted, op) // from here on the trail has it as begun
	c := *callOf(r)
	r = r.Clone(context.WithValue(ctx, callKey{}, &c))
	r.Body = boundedBody{io.NopCloser(bytes.NewReader(body)), http.NoBody}
	s.idle.enter()
	go func() {
		defer s.idle.leave()
		result := replay.Hold(nil)
		err := s.work(h, &answerWriter{ResponseWriter: result, id: c.id}, r)
		s.settleWork(h, &c, err)
		running.End(ctx, resultOf(result, err), orNil(err))
	}()
	return nil
}

// resultOf is the answer that was not sent.
func resultOf(held *replay.Held, err error) any {
	if text := held.Body.Bytes(); err == nil && len(text) > 0 && len(text) <= longestResult {
		return json.RawMessage(text)
	}
	return nil
}

// settleWork records how a call ended that was answered before.
func (s *Server) settleWork(h handler, c *call, err error) {
	if s.Trail == nil || !changes(h.Route) {
		return
	}
	outcome := forkbox.OutcomeOK
	if err != nil {
		outcome = string(forkbox.CodeOf(err))
	}
	s.enter(c, outcome, err)
	if touchesReality(h.Route) {
		_ = s.Trail.Flush(context.Background()) // its log says why not
	}
}

// eventsOf lists an engine's events for who knows only whose they are.
func eventsOf(e Engine) func(context.Context, int, int64, func(forkbox.Event)) error {
	return func(ctx context.Context, uid int, after int64, yield func(forkbox.Event)) error {
		return e.Events(ctx, forkbox.Owner{UID: uid}, engine.EventSpec{After: after}, func(event forkbox.Event) error {
			yield(event)
			return nil
		})
	}
}

func (s operationRoutes) keeper(op string) (*operations.Keeper, error) {
	if s.Operations == nil {
		return nil, forkbox.Errorf(forkbox.Unsupported, op, "this daemon keeps no operations")
	}
	return s.Operations, nil
}

func (s operationRoutes) listOperations(r *http.Request, _ api.None) (list api.OperationList, err error) {
	keeper, err := s.keeper("list operations")
	if err != nil {
		return list, err
	}
	all, err := keeper.List(r.Context(), who(r).UID)
	if err != nil {
		return list, err
	}
	list.Operations, list.Next, err = page(r, all, func(op forkbox.Operation) (time.Time, string) { return op.Began, op.ID })
	return list, err
}

func (s operationRoutes) getOperation(r *http.Request, _ api.None) (op forkbox.Operation, err error) {
	keeper, err := s.keeper("find an operation")
	if err != nil {
		return op, err
	}
	op, _, err = keeper.Get(r.Context(), who(r).UID, r.PathValue("operation"))
	return op, err
}

func (s operationRoutes) followOperation(w http.ResponseWriter, r *http.Request, _ api.None) error {
	keeper, err := s.keeper("follow an operation")
	if err != nil {
		return err
	}
	ctx, cancel := s.lasting(r)
	defer cancel()
	out := &lines{ResponseWriter: w, follow: true}
	err = keeper.Follow(ctx, who(r).UID, r.PathValue("operation"), func(op forkbox.Operation) error {
		return out.add(api.OperationLine{Operation: &op})
	})
	return out.end(s.cutOff(r, "follow an operation", err), func(e *forkbox.Error) any { return api.OperationLine{Error: e} })
}

// cancelOperation takes what it took to begin it.
func (s operationRoutes) cancelOperation(r *http.Request, _ api.None) (op forkbox.Operation, err error) {
	const doing = "cancel an operation"
	keeper, err := s.keeper(doing)
	if err != nil {
		return op, err
	}
	id := r.PathValue("operation")
	if op, _, err = keeper.Get(r.Context(), who(r).UID, id); err != nil {
		return op, err
	}
	i := slices.IndexFunc(api.Routes(), func(route *api.Route) bool { return route.Name == op.Kind })
	for _, scope := range api.Routes()[max(0, i)].Scopes {
		if err := lacking(callOf(r).Principal, doing, power{scope, op.Kind, true}); err != nil {
			return forkbox.Operation{}, err
		}
	}
	ctx, cancel := s.lasting(r)
	defer cancel()
	op, err = keeper.Cancel(ctx, who(r).UID, id)
	return op, s.cutOff(r, doing, err)
}
