package server

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/access"
)

// Some fields of a request need more than the scope of its route, and so does
// what was done to a box before: an agent that may make boxes and run commands
// in them must not thereby see the host's secrets, reach the host, or widen what
// a box reaches. A row of SECURITY.md is for each of these.

// power is something that takes a scope of its own.
type power struct {
	scope api.Scope
	what  string
	has   bool
}

// lacking is the refusal of the first power that a caller has no scope for.
func lacking(p *access.Principal, op string, powers ...power) error {
	for _, power := range powers {
		if power.has && !p.May(power.scope) {
			return access.Missing(p, power.scope, op, power.what)
		}
	}
	return nil
}

// checkFields refuses a request that asks for what its caller may not. It is
// called with every body that a route takes, and with what follows on an
// upgraded connection.
func (s *Server) checkFields(r *http.Request, in any) error {
	p := callOf(r).Principal
	if p.Scopes == access.AllScopes {
		return nil
	}
	switch req := in.(type) {
	case *api.CreateRequest:
		return s.checkCreate(r, p, req)
	case *api.RunRequest:
		if err := s.checkCreate(r, p, &req.Create); err != nil {
			return err
		}
		return checkExecFields(p, &req.Exec)
	case *api.ExecRequest:
		return checkExecFields(p, req)
	case *api.ForkRequest:
		withoutFound(p, &req.NetWish)
		return lacking(p, "fork a box", netPowers(string(req.Net), req.NetWish)...)
	case *forkbox.TemplateSpec:
		return s.checkOrigin(r.Context(), p, "make a template", req.From, "")
	case *forkbox.RaceSpec:
		return s.checkStart(r, p, &req.Start)
	}
	return nil
}

func (s *Server) checkCreate(r *http.Request, p *access.Principal, req *api.CreateRequest) error {
	const op = "create box"
	withoutFound(p, &req.NetWish)
	asked := append(netPowers(req.Net, req.NetWish), hiddenPowers(req.AllowSecrets, req.From)...)
	asked = append(asked, power{api.Policy, "copies of services", len(req.With)+len(req.Services) > 0})
	if err := lacking(p, op, asked...); err != nil {
		return err
	}
	return s.checkOrigin(r.Context(), p, op, req.From, req.Template)
}

func (s *Server) checkStart(r *http.Request, p *access.Principal, start *forkbox.RaceStart) error {
	withoutFound(p, &start.NetWish)
	return s.checkCreate(r, p, &api.CreateRequest{
		From: start.From, Template: start.Template, AllowSecrets: start.AllowSecrets, Net: start.Net, NetWish: start.NetWish, With: start.With, Services: start.Services,
	})
}

func checkExecFields(p *access.Principal, req *api.ExecRequest) error {
	return lacking(p, "run a command", power{api.Boxes, "stop: true", req.Stop})
}

// withoutFound takes away what the caller says that this machine's tools use:
// for those who may not widen a network the daemon looks itself, as it does for
// whoever says nothing of it.
func withoutFound(p *access.Principal, wish *forkbox.NetWish) {
	if !p.May(api.Policy) {
		wish.Found = nil
	}
}

// netPowers are what a wish for a network takes. To narrow one takes nothing.
func netPowers(net string, wish forkbox.NetWish) []power {
	widens := func(rule string) bool { return !strings.HasPrefix(strings.TrimSpace(rule), "deny ") }
	powers := []power{
		{api.Policy, "the host's network", net == string(forkbox.NetHost)},
		{api.Policy, "the preset open", wish.Preset == forkbox.PresetOpen},
		{api.Policy, "a rule that allows", slices.ContainsFunc(wish.Rules, widens)},
		{api.Policy, "a port of the host", len(wish.HostPorts)+len(wish.LetIn) > 0},
		{api.Policy, "a host whose TLS is not looked into", len(wish.Pinned) > 0},
		{api.Policy, "what is found on this machine", len(wish.Found) > 0},
		{api.Secrets, "a kept secret", len(wish.Secrets) > 0},
	}
	if wish.Project != nil {
		// The daemon has only the caller's word for what a project's file says.
		powers = append(powers, netPowers("", *wish.Project)...)
	}
	return powers
}

// hiddenPowers are what makes a box see what is hidden from others: a box of a
// directory has no veil.
func hiddenPowers(allow []string, from string) []power {
	return []power{
		{api.Secrets, "allow_secrets", len(allow) > 0},
		{api.Secrets, "a box of a directory of the host", strings.HasPrefix(from, "dir:")},
	}
}

// boxPowers are what whoever gets into a box has, because of how its owner made
// it.
func boxPowers(net forkbox.Net, network forkbox.Network, base forkbox.Base, allow []string) []power {
	return []power{
		{api.Secrets, "a box that sees secrets of the host", len(allow) > 0 || base.Kind == "dir"},
		{api.Secrets, "a box that uses kept secrets", len(network.Secrets) > 0},
		{api.Policy, "a box on the host's network", net == forkbox.NetHost},
		{api.Policy, "a box that reaches ports of the host", len(network.HostPorts) > 0},
	}
}

// checkOrigin is checkBox for what a box is made of.
func (s *Server) checkOrigin(ctx context.Context, p *access.Principal, op, from, template string) error {
	if template != "" {
		return s.checkTemplate(ctx, p, op, template)
	}
	kind, _, other := strings.Cut(from, ":")
	if from == "" || from == "reality" || from == "empty" || other && (kind == "base" || kind == "dir") {
		return nil
	}
	return s.checkBox(ctx, p, op, from)
}

func (s *Server) checkTemplate(ctx context.Context, p *access.Principal, op, name string) error {
	list, err := s.Engine.Templates(ctx, p.Owner)
	if err != nil {
		return err
	}
	for _, t := range list {
		if t.Name == name || t.ID == name {
			return lacking(p, op, boxPowers(t.Net, t.Network, t.Base, t.AllowSecrets)...)
		}
	}
	return nil // the engine says that there is none
}

// checkTurn is checkFields for an exec that is asked for on an upgraded connection,
// where the request that it began with was about another.
func (s *Server) checkTurn(r *http.Request, box string, create *api.CreateRequest, req *api.ExecRequest) error {
	const op = "run a command"
	p := callOf(r).Principal
	if p.Scopes == access.AllScopes {
		return nil
	}
	if create != nil {
		if err := lacking(p, op, power{api.Boxes, "a new box", true}); err != nil {
			return err
		}
		run := api.RunRequest{Create: *create, Exec: *req}
		err := s.checkFields(r, &run)
		*create, *req = run.Create, run.Exec // without what the caller may not have, and did not ask for
		return err
	}
	if err := s.checkFields(r, req); err != nil {
		return err
	}
	return s.checkBox(r.Context(), p, op, box)
}

// shownEnv is the environment of a box or race as the caller may see it: what was
// let in with allow_secrets is in there.
func shownEnv(r *http.Request, env forkbox.Strings) forkbox.Strings {
	if callOf(r).May(api.Secrets) {
		return env
	}
	return nil
}

// checkBox refuses to let a caller into a box that has more than the caller.
func (s *Server) checkBox(ctx context.Context, p *access.Principal, op, ref string) error {
	if p.Scopes == access.AllScopes || p.May(api.Secrets) && p.May(api.Policy) {
		return nil
	}
	ref, _, _ = forkbox.SplitRef(ref)
	box, err := s.Engine.Box(ctx, p.Owner, ref)
	if err != nil {
		return err
	}
	return lacking(p, op, boxPowers(box.Net, box.Network, box.Base, box.AllowSecrets)...)
}

// entersBox says whether a route gets its caller at what is in a box.
func entersBox(route *api.Route) bool {
	return strings.Contains(route.Path, "{box}") &&
		(slices.Contains(route.Scopes, api.Exec) || slices.Contains(route.Scopes, api.Files) || route.Name == api.ForkBox.Name)
}
