package server

import (
	"context"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
)

// fakeNet is the part of the fake engine that networks are. It remembers what
// it was asked.
type fakeNet struct {
	calls      []netCall
	netFailure error // what everything ends with
	conns      []forkbox.Conn
	ports      []forkbox.Port
}

type netCall struct {
	verb, ref string
	arg       any
}

func (f *fakeNet) call(verb, ref string, arg any) error {
	f.calls = append(f.calls, netCall{verb, ref, arg})
	return f.netFailure
}

func (f *fakeNet) Network(_ context.Context, _ forkbox.Owner, ref string) (forkbox.Net, forkbox.Network, error) {
	return forkbox.NetPolicy, forkbox.Network{
		Preset: forkbox.PresetLocked, Rules: []forkbox.NetRule{{Rule: "allow a.example:443", From: "box"}},
	}, f.call("network", ref, nil)
}

func (f *fakeNet) Allow(_ context.Context, _ forkbox.Owner, ref string, rules []string, remove bool) (forkbox.Box, error) {
	verb := "allow"
	if remove {
		verb = "disallow"
	}
	return forkbox.Box{ID: ref, Env: []string{"A=1"}}, f.call(verb, ref, rules)
}

func (f *fakeNet) Explain(_ context.Context, _ forkbox.Owner, ref, target string) (forkbox.NetVerdict, error) {
	return forkbox.NetVerdict{Target: forkbox.NetTarget{Proto: "tcp", Host: target, Port: 443}, Why: "no rule allows it"}, f.call("explain", ref, target)
}

type connAsk struct {
	after  int64
	limit  int
	follow bool
}

func (f *fakeNet) ConnLog(ctx context.Context, _ forkbox.Owner, ref string, after int64, limit int, follow bool, yield func(forkbox.Conn) error) error {
	if err := f.call("log", ref, connAsk{after, limit, follow}); err != nil {
		return err
	}
	for _, conn := range f.conns {
		if conn.ID <= after {
			continue
		}
		if err := yield(conn); err != nil {
			return err
		}
	}
	if follow {
		<-ctx.Done()
	}
	return nil
}

func (f *fakeNet) Publish(_ context.Context, _ forkbox.Owner, ref string, port forkbox.Port) (forkbox.Port, error) {
	if err := f.call("publish", ref, port); err != nil {
		return port, err
	}
	if port.Host == 0 {
		port.Host = 40000
	}
	return port, nil
}

func (f *fakeNet) Unpublish(_ context.Context, _ forkbox.Owner, ref string, port forkbox.Port) error {
	return f.call("unpublish", ref, port)
}

func (f *fakeNet) PortsOf(_ context.Context, _ forkbox.Owner, ref string) ([]forkbox.Port, error) {
	return f.ports, f.call("ports", ref, nil)
}

func (f *fakeNet) URL(_ context.Context, _ forkbox.Owner, ref string, port int) (string, error) {
	return "http://3000--b1.localhost:7357", f.call("url", ref, port)
}

func (f *fakeNet) WaitPort(ctx context.Context, _ forkbox.Owner, ref string, port int, timeout time.Duration) error {
	if err := f.call("wait", ref, forkbox.Port{Box: port, Host: int(timeout)}); err != nil {
		return err
	}
	if timeout == time.Hour { // longer than any client is there
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// fakeVault keeps secrets by user.
type fakeVault struct {
	kept   map[int]map[string]string
	hosts  map[string][]string
	refuse error
}

func (v *fakeVault) Set(uid int, s forkbox.Secret, value []byte) error {
	if v.refuse != nil {
		return v.refuse
	}
	if v.kept == nil {
		v.kept, v.hosts = map[int]map[string]string{}, map[string][]string{}
	}
	if v.kept[uid] == nil {
		v.kept[uid] = map[string]string{}
	}
	v.kept[uid][s.Name], v.hosts[s.Name] = string(value), s.Hosts
	return nil
}

func (v *fakeVault) List(uid int) (list []forkbox.Secret, err error) {
	for name := range v.kept[uid] {
		list = append(list, forkbox.Secret{Name: name, Hosts: v.hosts[name]})
	}
	slices.SortFunc(list, func(a, b forkbox.Secret) int { return len(a.Name) - len(b.Name) })
	return list, v.refuse
}

func (v *fakeVault) Remove(uid int, name string) error {
	delete(v.kept[uid], name)
	return v.refuse
}
