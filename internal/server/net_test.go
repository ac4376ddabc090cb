package server

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

var someNetWish = forkbox.NetWish{
	Preset: forkbox.PresetLocked, Rules: []string{"deny a.example", "allow *.example:443"}, HostPorts: []int{5432}, Secrets: []string{"TOKEN"},
	Terminate: []string{"t.example"}, Pinned: []string{"p.example"},
	Project: &forkbox.NetWish{Rules: []string{"allow b.example"}}, ProjectFile: "/w/forkbox.yaml",
	Found: []forkbox.NetRule{{Rule: "allow c.example:443 private", From: "preset balanced: git (/w/.git/config)"}},
}

// TestNetWishesArrive: whatever makes a box takes along what it is to reach, in
// the order in which it was said.
func TestNetWishesArrive(t *testing.T) {
	r := start(t)
	ctx, e := t.Context(), r.engine
	if _, err := r.client.Create(ctx, api.CreateRequest{Net: "web", NetWish: someNetWish}); err != nil {
		t.Fatal(err)
	}
	if got := e.created[0]; got.Net != "web" || !reflect.DeepEqual(got.NetWish, someNetWish) {
		t.Errorf("create: %+v", got)
	}
	fork := api.ForkRequest{ForkSpec: forkbox.ForkSpec{Net: "web"}, NetWish: someNetWish}
	if _, err := r.client.ForkWith(ctx, "b1", fork); err != nil || !reflect.DeepEqual(e.netWish, someNetWish) {
		t.Errorf("fork: %v %+v", err, e.netWish)
	}
	e.netWish = forkbox.NetWish{}
	in := client.ImportRequest{ImportSpec: forkbox.ImportSpec{Net: "web"}, NetWish: someNetWish, Wish: someWish}
	if _, err := r.client.ImportWith(ctx, strings.NewReader("x"), in); err != nil || !reflect.DeepEqual(e.netWish, someNetWish) || !reflect.DeepEqual(e.wish, someWish) {
		t.Errorf("import: %v %+v", err, e.netWish)
	}
	if got := e.asked[1]; !reflect.DeepEqual(got, forkbox.ImportSpec{Net: "web"}) {
		t.Errorf("import: %+v", got)
	}
}

// TestNetRoutes: what the client is asked for is what the engine is, and the
// engine's error arrives as it is.
func TestNetRoutes(t *testing.T) {
	r := start(t)
	ctx, c := t.Context(), r.client
	for _, row := range []struct {
		call func() (any, error)
		want netCall
	}{
		{func() (any, error) { return c.Net(ctx, "b1") }, netCall{"network", "b1", nil}},
		{func() (any, error) {
			return c.ChangeNet(ctx, "b1", api.NetChange{Add: []string{"allow x", "deny y"}})
		}, netCall{"allow", "b1", []string{"allow x", "deny y"}}},
		{func() (any, error) { return c.ChangeNet(ctx, "b1", api.NetChange{Remove: []string{"x"}}) }, netCall{"disallow", "b1", []string{"x"}}},
		{func() (any, error) { return c.Explain(ctx, "b1", "https://a.example/x?y") }, netCall{"explain", "b1", "https://a.example/x?y"}},
		{func() (any, error) { return c.Ports(ctx, "b1") }, netCall{"ports", "b1", nil}},
		{func() (any, error) { return c.Publish(ctx, "b1", forkbox.Port{Box: 3000}) }, netCall{"publish", "b1", forkbox.Port{Box: 3000}}},
		{func() (any, error) { return nil, c.Unpublish(ctx, "b1", forkbox.Port{Box: 3000}) }, netCall{"unpublish", "b1", forkbox.Port{Box: 3000}}},
		{func() (any, error) { return nil, c.Unpublish(ctx, "b1", forkbox.Port{Box: 3000, Host: 80}) }, netCall{"unpublish", "b1", forkbox.Port{Box: 3000, Host: 80}}},
		{func() (any, error) { return c.OpenPort(ctx, "b1", 3000) }, netCall{"url", "b1", 3000}},
		{func() (any, error) { return nil, c.WaitPort(ctx, "b1", 3000, 7) }, netCall{"wait", "b1", forkbox.Port{Box: 3000, Host: 7}}},
		{func() (any, error) {
			return nil, c.Conns(ctx, "b1", client.ConnSpec{After: 3, Limit: 5}, func(forkbox.Conn) error { return nil })
		}, netCall{"log", "b1", connAsk{3, 5, false}}},
	} {
		r.engine.fakeNet = fakeNet{}
		if _, err := row.call(); err != nil {
			t.Errorf("%+v: %v", row.want, err)
		}
		if got := r.engine.calls; !reflect.DeepEqual(got, []netCall{row.want}) {
			t.Errorf("asked for %+v, the engine got %+v", row.want, got)
		}
		r.engine.netFailure = forkbox.Errorf(forkbox.Busy, "do it", "it is at rest").Hint("forkbox start b1")
		if _, err := row.call(); forkbox.CodeOf(err) != forkbox.Busy || !strings.Contains(err.Error(), "it is at rest") {
			t.Errorf("%+v: the engine's error became %v", row.want, err)
		}
	}
}

func TestNetAnswers(t *testing.T) {
	r := start(t)
	ctx := t.Context()
	doc, err := r.client.Net(ctx, "b1")
	if err != nil || doc.Box != "b1" || doc.Net != forkbox.NetPolicy || doc.Preset != forkbox.PresetLocked || doc.Rules[0].From != "box" {
		t.Errorf("%+v %v", doc, err)
	}
	if _, err := r.client.Net(ctx, "nosuch"); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Error(err)
	}
	if box, err := r.client.ChangeNet(ctx, "b1", api.NetChange{Add: []string{"allow x"}}); err != nil || box.Env != nil {
		t.Errorf("%+v %v", box, err)
	}
	if v, err := r.client.Explain(ctx, "b1", "x"); err != nil || v.Target.Host != "x" || v.Target.Port != 443 || v.Allowed {
		t.Errorf("%+v %v", v, err)
	}
	if port, err := r.client.Publish(ctx, "b1", forkbox.Port{Box: 3000}); err != nil || port.Host != 40000 {
		t.Errorf("%+v %v", port, err)
	}
	if url, err := r.client.OpenPort(ctx, "b1", 3000); err != nil || url != "http://3000--b1.localhost:7357" {
		t.Error(url, err)
	}
	if status, text := r.raw(t, "GET", "/v1/boxes/b1/ports", ""); status != 200 || strings.TrimSpace(text) != `{"ports":[]}` {
		t.Error(status, text)
	}
}

func TestConnsAreStreamed(t *testing.T) {
	r := start(t)
	hostile := "a\nb\x1b[31m.example"
	r.engine.conns = []forkbox.Conn{
		{ID: 1, State: forkbox.ConnOpen},
		{ID: 2, State: forkbox.ConnRefused, NetVerdict: forkbox.NetVerdict{Target: forkbox.NetTarget{Host: hostile, Port: 443}, Why: "no rule allows it"}},
		{ID: 1, State: forkbox.ConnClosed, In: 5},
	}
	var got []forkbox.Conn
	take := func(c forkbox.Conn) error { got = append(got, c); return nil }
	if err := r.client.Conns(t.Context(), "b1", client.ConnSpec{}, take); err != nil || !reflect.DeepEqual(got, r.engine.conns) {
		t.Errorf("%+v %v", got, err)
	}
	if want := (connAsk{0, mostConns, false}); r.engine.calls[0].arg != want {
		t.Errorf("it has no bound: %+v", r.engine.calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	got = nil
	err := r.client.Conns(ctx, "b1", client.ConnSpec{Follow: true}, func(c forkbox.Conn) error {
		if take(c); len(got) == 3 {
			cancel()
		}
		return nil
	})
	if err != context.Canceled || len(got) != 3 {
		t.Errorf("follow: %v %v", got, err)
	}
	if err := r.client.Conns(t.Context(), "nosuch", client.ConnSpec{Follow: true}, take); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("follow a box that is not there: %v", err)
	}
	_, text := r.raw(t, "GET", "/v1/boxes/b1/net/log", "")
	for line := range strings.Lines(text) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a name breaks the line: %q", line)
		}
	}
}

// TestNothingIsReachedByGuess: a request that is not understood changes nothing.
func TestNothingIsReachedByGuess(t *testing.T) {
	r := start(t)
	for path, bodies := range map[string][]string{
		"PATCH /v1/boxes/b1/net": {
			``, `null`, `{}`, `{"add":[]}`, `{"add":null}`, `{"add":"allow x"}`, `{"add":[1]}`, `{"ADD":["allow x"]}`, `{"rules":["allow x"]}`,
			`{"add":["allow x"],"add":["deny x"]}`, `{"add":["allow x"],"remove":["allow y"]}`, `{"remove":[]}`,
		},
		"POST /v1/boxes/b1/net/explain":              {``, `{}`, `{"target":""}`, `{"target":null}`, `{"target":5}`, `{"url":"x"}`},
		"POST /v1/boxes/b1/ports":                    {``, `{}`, `{"box":0}`, `{"box":-1}`, `{"box":65536}`, `{"box":"3000"}`, `{"box":3000,"host":-1}`, `{"box":3000,"host":65536}`, `{"port":3000}`, `{"box":1,"box":2}`},
		"DELETE /v1/boxes/b1/ports":                  {``},
		"DELETE /v1/boxes/b1/ports?port=0":           {``},
		"DELETE /v1/boxes/b1/ports?port=x":           {``},
		"DELETE /v1/boxes/b1/ports?port=99999":       {``},
		"DELETE /v1/boxes/b1/ports?port=1&host":      {``},
		"POST /v1/boxes/b1/open":                     {``, `{}`, `{"port":0}`, `{"port":65536}`, `{"port":"80"}`},
		"POST /v1/boxes/b1/wait":                     {``, `{}`, `{"port":0}`, `{"port":80,"timeout_ns":-1}`, `{"port":80,"timeout_ns":"1s"}`, `{"port":80,"timeout":1}`},
		"GET /v1/boxes/b1/net/log?after=x":           {``},
		"GET /v1/boxes/b1/net/log?after=-1":          {``},
		"GET /v1/boxes/b1/net/log?limit=0":           {``},
		"GET /v1/boxes/b1/net/log?limit=10001":       {``},
		"GET /v1/boxes/b1/net/log?limit=many":        {``},
		"GET /v1/boxes/b1/net/log?follow=maybe":      {``},
		"POST /v1/boxes":                             {`{"net_wish":{"rule":["allow x"]}}`, `{"net_wish":[]}`, `{"net":7}`},
		"POST /v1/import?net_wish=x":                 {`tar`},
		"POST /v1/import?net_wish=%7B%22x%22%3A1%7D": {`tar`},
	} {
		method, target, _ := strings.Cut(path, " ")
		for _, body := range bodies {
			if status, text := r.raw(t, method, target, body); status != 400 || !strings.Contains(text, `"code":"invalid"`) {
				t.Errorf("%s %.80s: %d %s", path, body, status, text)
			}
		}
	}
	if e := r.engine; len(e.calls)+len(e.created)+len(e.asked) > 0 {
		t.Errorf("something was done all the same: %+v %+v %+v", e.calls, e.created, e.asked)
	}
}

// TestWaitingForAPortEndsWithTheDaemon, and with who waits.
func TestWaitingForAPortEndsWithTheDaemon(t *testing.T) {
	r := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.client.WaitPort(ctx, "b1", 80, time.Hour) }()
	eventually(t, "a client waits", func() bool { r.idle.mu.Lock(); defer r.idle.mu.Unlock(); return r.idle.active > 0 })
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Error(err)
	}
	r.idle.wait(t.Context())
	go func() { ended <- r.client.WaitPort(t.Context(), "b1", 80, time.Hour) }()
	eventually(t, "a client waits", func() bool { r.idle.mu.Lock(); defer r.idle.mu.Unlock(); return r.idle.active > 0 })
	r.cancel()
	if err := <-ended; forkbox.CodeOf(err) != forkbox.Unavailable {
		t.Error(err)
	}
}
