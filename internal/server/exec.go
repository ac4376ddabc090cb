package server

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/engine"
)

func (s execRoutes) listExecs(r *http.Request, _ api.None) (list api.ExecList, err error) {
	execs, err := s.Engine.Execs(r.Context(), who(r), r.PathValue("box"))
	if err != nil {
		return list, err
	}
	list.Execs, list.Next, err = page(r, execs, func(e forkbox.Exec) (time.Time, string) { return e.Started, e.ID })
	return list, err
}

func (s execRoutes) getExec(r *http.Request, _ api.None) (forkbox.Exec, error) {
	return s.Engine.GetExec(r.Context(), who(r), r.PathValue("box"), r.PathValue("exec"))
}

func (s execRoutes) startExec(w http.ResponseWriter, r *http.Request, req api.ExecRequest) error {
	if err := checkExec(req); err != nil {
		return err
	}
	if upgrades(r) {
		return s.attach(w, r, turn{box: r.PathValue("box"), req: req})
	}
	form, err := outputForm(r)
	switch {
	case err != nil:
		return err
	case form != "":
		return s.post(w, r, form, api.StreamRequest{Exec: &req})
	}
	exec, err := s.detach(r, req)
	if err != nil {
		return err
	}
	return answer(w, http.StatusCreated, exec)
}

// detach starts a command that no client waits for.
func (s execRoutes) detach(r *http.Request, req api.ExecRequest) (forkbox.Exec, error) {
	if req.Open && len(req.Stdin) > 0 {
		return forkbox.Exec{}, forkbox.Errorf(forkbox.Invalid, "run "+req.Argv[0], "its stdin cannot both be given and stay open")
	}
	stdin, err := stdinFile(req.Stdin)
	if err != nil {
		return forkbox.Exec{}, forkbox.Wrap("hand over stdin", err)
	}
	ctx, done := s.waiting(r.Context(), who(r), &req.Wish)
	defer done()
	ask := engineRequest(req)
	ask.Detached = true
	// The engine owns the files, also when it fails.
	exec, err := s.Engine.Exec(ctx, who(r), r.PathValue("box"), ask, forkbox.Stdio{In: stdin})
	return exec, unqueued(ctx, err)
}

// attachExec attaches the caller to an exec that runs already.
func (s execRoutes) attachExec(w http.ResponseWriter, r *http.Request, _ api.None) error {
	id := r.PathValue("exec")
	if !upgrades(r) {
		return forkbox.Errorf(forkbox.Invalid, "attach to exec "+id, "the request does not upgrade to %s", api.Protocol).
			Hint("without an upgrade: GET /v1/boxes/BOX/execs/%s/logs?follow=1", id)
	}
	return s.attach(w, r, turn{box: r.PathValue("box"), join: id, last: isSet(r, "last")})
}

func upgrades(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), api.Protocol)
}

// run makes a box and attaches the caller to a command in it.
func (s execRoutes) run(w http.ResponseWriter, r *http.Request, req api.RunRequest) error {
	if err := checkExec(req.Exec); err != nil {
		return err
	}
	form, err := outputForm(r)
	switch {
	case err != nil:
		return err
	case form != "":
		return s.post(w, r, form, api.StreamRequest{Create: &req.Create, Exec: &req.Exec})
	}
	if !upgrades(r) {
		return forkbox.Errorf(forkbox.Invalid, "run a command in a new box", "the request does not upgrade to %s", api.Protocol).
			Hint("without an upgrade: POST /v1/run?stream=lines, or GET /v1/run/stream with a WebSocket")
	}
	return s.attach(w, r, turn{made: &req.Create, req: req.Exec})
}

func checkExec(req api.ExecRequest) error {
	switch {
	case len(req.Argv) == 0 || req.Argv[0] == "":
		return forkbox.Errorf(forkbox.Invalid, "run a command", "there is none")
	case req.Timeout < 0:
		return forkbox.Errorf(forkbox.Invalid, "run "+req.Argv[0], "the timeout of %s is negative", req.Timeout)
	case len(req.Limits) > 0: // those that hold are the engine's to find out
		return forkbox.Errorf(forkbox.Invalid, "run "+req.Argv[0], "limits are asked for in a wish")
	}
	if err := checkWish(req.Wish); err != nil {
		return err
	}
	switch req.OnDisconnect {
	case "", api.KeepOnDisconnect, api.KillOnDisconnect:
		return nil
	}
	return forkbox.Errorf(forkbox.Invalid, "run "+req.Argv[0], "on_disconnect %q is neither %s nor %s",
		req.OnDisconnect, api.KillOnDisconnect, api.KeepOnDisconnect)
}

// engineRequest: the wire has what the connection is to do as well, and not the
// label, by which only races find an exec again.
func engineRequest(req api.ExecRequest) engine.ExecRequest {
	return engine.ExecRequest{ExecSpec: req.ExecSpec, ExtraEnv: req.ExtraEnv, Wish: req.Wish}
}

func (s execRoutes) waitExec(r *http.Request, _ api.None) (forkbox.Exec, error) {
	ctx, cancel := s.lasting(r)
	defer cancel()
	box, id := r.PathValue("box"), r.PathValue("exec")
	kills := r.URL.Query().Get("on_disconnect") == api.KillOnDisconnect
	if err := lacking(callOf(r).Principal, "wait for exec "+id, power{api.Exec, "on_disconnect=kill", kills}); err != nil {
		return forkbox.Exec{}, err
	}
	exec, err := s.Engine.Wait(ctx, who(r), box, id)
	if err != nil && r.Context().Err() != nil && kills && !s.isStopping() {
		s.abandon(r, box, id)
	}
	return exec, cmp.Or(s.cutOff(r, "wait for exec "+id, err), err)
}

// abandon ends an exec whose caller has gone, with everything it started.
func (s *Server) abandon(r *http.Request, box, id string) {
	ctx := context.WithoutCancel(r.Context())
	if err := s.Engine.Abandon(ctx, who(r), box, id); err != nil {
		s.Log.WarnContext(ctx, "cannot end an abandoned exec", "box", box, "exec", id, "error", err)
	}
}

func (s *Server) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

func (s execRoutes) signalExec(r *http.Request, req api.SignalRequest) (none api.None, err error) {
	if err := checkSignal("signal exec "+r.PathValue("exec"), req.Signal); err != nil {
		return none, err
	}
	return none, s.Engine.Signal(r.Context(), who(r), r.PathValue("box"), r.PathValue("exec"), req.Signal)
}

func checkSignal(op string, number int) error {
	if number < 1 || number > 64 {
		return forkbox.Errorf(forkbox.Invalid, op, "there is no signal %d", number)
	}
	return nil
}

func (s execRoutes) killExec(r *http.Request, req api.KillRequest) (none api.None, err error) {
	if req.Grace < 0 {
		return none, forkbox.Errorf(forkbox.Invalid, "kill exec "+r.PathValue("exec"), "the grace of %s is negative", req.Grace)
	}
	return none, s.Engine.Kill(r.Context(), who(r), r.PathValue("box"), r.PathValue("exec"), req.Grace)
}

func (s execRoutes) resizeExec(r *http.Request, size forkbox.Size) (api.None, error) {
	return api.None{}, s.Engine.Resize(r.Context(), who(r), r.PathValue("box"), r.PathValue("exec"), size)
}

// suspendExec stops an exec as ctrl-Z on its terminal would.
func (s execRoutes) suspendExec(r *http.Request, _ api.None) (api.Suspended, error) {
	stopped, err := s.Engine.Suspend(r.Context(), who(r), r.PathValue("box"), r.PathValue("exec"))
	return api.Suspended{Stopped: stopped}, err
}
