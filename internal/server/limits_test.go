package server

import (
	"context"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

var someWish = forkbox.Wish{
	Limits:  forkbox.Limits{forkbox.Memory: 64 << 20, forkbox.CPUs: 1500, forkbox.Swap: 0, forkbox.Pids: forkbox.Unlimited},
	Project: forkbox.Limits{forkbox.TTL: int64(time.Hour)}, ProjectFile: "/w/forkbox.yaml",
	BestEffort: true, Priority: forkbox.LowPriority, Wait: new(int64), Ticket: "t1",
}

// TestWishesArrive: whatever makes a box or runs a command takes the limits
// along as they were said, zero and unlimited included.
func TestWishesArrive(t *testing.T) {
	r := start(t)
	ctx, e := t.Context(), r.engine
	for name, row := range map[string]struct {
		ask func() error
		got func() forkbox.Wish
	}{
		"create": {
			func() error { _, err := r.client.Create(ctx, api.CreateRequest{Wish: someWish}); return err },
			func() forkbox.Wish { return e.created[len(e.created)-1].Wish },
		},
		"fork": {
			func() error { _, err := r.client.ForkWith(ctx, "b1", api.ForkRequest{Wish: someWish}); return err },
			func() forkbox.Wish { return e.wish },
		},
		"import": {
			func() error {
				_, err := r.client.ImportWith(ctx, strings.NewReader("x"), client.ImportRequest{Wish: someWish})
				return err
			},
			func() forkbox.Wish { return e.wish },
		},
		"exec": {
			func() error {
				_, err := r.client.ExecDetached(ctx, "b1", api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"x"}}, Wish: someWish})
				return err
			},
			func() forkbox.Wish { return e.execs[len(e.execs)-1].Wish },
		},
	} {
		if err := row.ask(); err != nil || !reflect.DeepEqual(row.got(), someWish) {
			t.Errorf("%s: %v\n%+v", name, err, row.got())
		}
	}
	if !e.execs[0].Detached {
		t.Error("no client waits for it, and the engine was not told")
	}
}

func TestLimitRoutes(t *testing.T) {
	r := start(t)
	ctx, c, e := t.Context(), r.client, r.engine
	change := forkbox.Wish{Limits: forkbox.Limits{forkbox.Memory: forkbox.Unlimited}, Priority: forkbox.HighPriority}
	if box, err := c.Set(ctx, "b1", change); err != nil || box.Env != nil || box.Priority != forkbox.HighPriority || !reflect.DeepEqual(e.wished, []forkbox.Wish{change}) {
		t.Errorf("set: %+v %v %+v", box, err, e.wished)
	}
	if _, err := c.Extend(ctx, "b1", time.Hour); err != nil || e.extended != time.Hour {
		t.Errorf("extend: %v %v", e.extended, err)
	}
	if box, err := c.Pause(ctx, "b1"); err != nil || box.Paused == "" {
		t.Errorf("pause: %+v %v", box, err)
	}
	if box, err := c.Resume(ctx, "b1"); err != nil || box.Paused != "" {
		t.Errorf("resume: %+v %v", box, err)
	}
	if s, err := c.Stats(ctx, "b1", false); err != nil || s.Now.Memory != 7 || s.Series != nil {
		t.Errorf("stats: %+v %v", s, err)
	}
	if s, err := c.Stats(ctx, "b1", true); err != nil || len(s.Series) != 2 {
		t.Errorf("series: %+v %v", s, err)
	}
	if holds, err := c.Holds(ctx); err != nil || holds[forkbox.Disk].How != forkbox.Watched {
		t.Errorf("holds: %+v %v", holds, err)
	}
	if p, err := c.Policy(ctx, forkbox.Wish{Limits: forkbox.Limits{forkbox.CPUs: 500}}); err != nil || p[forkbox.CPUs].Value != 500 {
		t.Errorf("policy: %+v %v", p, err)
	}
	for path, want := range map[string]string{"/v1/stats": `{"boxes":[]}`, "/v1/queue": `{"waiting":[]}`} {
		if status, text := r.raw(t, "GET", path, ""); status != 200 || strings.TrimSpace(text) != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

// TestNothingIsLimitedByGuess: a request that is not understood changes nothing.
func TestNothingIsLimitedByGuess(t *testing.T) {
	r := start(t)
	for path, bodies := range map[string][]string{
		"PATCH /v1/boxes/b1/limits": {
			``, `null`, `{}`, `{"limits":{}}`, `{"limits":null}`, `{"limits":{"memory":null}}`, `{"limits":{"memory":"much"}}`,
			`{"limits":{"memory":1}}`, `{"limits":{"memory":-2}}`, `{"limits":{"memery":"1g"}}`, `{"limits":{"memory":"1g","memory":"2g"}}`,
			`{"limits":{"memory":1.5}}`, `{"LIMITS":{"memory":"1g"}}`, `{"limits":{"memory":"1g"},"limits":{"memory":"2g"}}`,
			`{"limits":{"memory":"1g"},"priority":"highest"}`, `{"limits":{"memory":"1g"},"wait_ns":1}`,
			`{"limits":{"memory":"1g"},"project":{"memory":"2g"}}`, `{"limits":["memory"]}`, `{"best_effort":"yes"}`,
		},
		"POST /v1/boxes/b1/extend": {``, `{}`, `{"by_ns":0}`, `{"by_ns":-1}`, `{"by_ns":"1h"}`, `{"by_ns":null}`, `{"by_ns":1,"by_ns":2}`},
		"POST /v1/boxes/b1/pause":  {`{"why":"x"}`, `[]`},
		"POST /v1/boxes": {
			`{"wish":{"limits":{"memery":1}}}`, `{"wish":{"priority":"x"}}`, `{"wish":{"wait_ns":-1}}`, `{"wish":{"project":{"memory":"1g"}}}`,
			`{"wish":{"ticket":"` + strings.Repeat("x", longestTicket+1) + `"}}`, `{"limits":{"memory":"1g"}}`,
		},
		"POST /v1/boxes/b1/execs": {
			`{"argv":["x"],"limits":{"memory":"1g"}}`, `{"argv":["x"],"wish":{"limits":{"memory":"x"}}}`, `{"argv":["x"],"open":true,"stdin":"aGk="}`,
		},
		"POST /v1/boxes/b1/execs/1/attach":                      {``, `{}`},
		"POST /v1/import?wish=%7B%22limits%22%3A%7B%22x%22%3A1": {`tar`},
		"POST /v1/import?wish=x":                                {`tar`},
		"POST /v1/store":                                        {``, `{}`, `{"size_bytes":0}`, `{"size_bytes":-5}`, `{"size_bytes":"50g"}`},
		"PATCH /v1/store":                                       {``, `{}`, `{"size_bytes":null}`},
		"GET /v1/events?after=x":                                {``},
		"GET /v1/events?after=-1":                               {``},
		"GET /v1/events?follow=perhaps":                         {``},
		"GET /v1/boxes/b1/stats?series=perhaps":                 {``},
	} {
		method, target, _ := strings.Cut(path, " ")
		for _, body := range bodies {
			if status, text := r.raw(t, method, target, body); status != 400 || !strings.Contains(text, `"code":"invalid"`) {
				t.Errorf("%s %.80s: %d %s", path, body, status, text)
			}
		}
	}
	e := r.engine
	if len(e.wished)+len(e.created)+len(e.execs)+len(e.asked)+len(e.joined) > 0 || e.extended != 0 || e.store.Pool != nil {
		t.Errorf("something was done all the same: %+v %+v %+v %+v", e.wished, e.created, e.execs, e.asked)
	}
	if _, text := r.raw(t, "PATCH", "/v1/boxes/b1/limits", `{"limits":{"memory":"much"}}`); !strings.Contains(text, "512m") {
		t.Errorf("the hint is lost: %s", text)
	}
}

func TestEventsAreStreamed(t *testing.T) {
	r := start(t)
	r.engine.events = []forkbox.Event{{ID: 1, Box: "b1", Kind: forkbox.EventOOM}, {ID: 2, Box: "b2"}, {ID: 3, Box: "b1", Kind: forkbox.EventTTL}}
	told := func(ctx context.Context, spec client.EventSpec, enough int, stop func()) (ids []int64, err error) {
		err = r.client.Events(ctx, spec, func(e forkbox.Event) error {
			if ids = append(ids, e.ID); len(ids) == enough {
				stop()
			}
			return nil
		})
		return ids, err
	}
	for _, row := range []struct {
		spec client.EventSpec
		want []int64
	}{{client.EventSpec{}, []int64{1, 2, 3}}, {client.EventSpec{Box: "b1"}, []int64{1, 3}}, {client.EventSpec{After: 2}, []int64{3}}, {client.EventSpec{After: 3}, nil}, {client.EventSpec{Kinds: forkbox.EventFilter{"limit.*"}}, []int64{1}}} {
		if got, err := told(t.Context(), row.spec, -1, nil); err != nil || !reflect.DeepEqual(got, row.want) {
			t.Errorf("%+v: %v %v", row.spec, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	if got, err := told(ctx, client.EventSpec{Follow: true}, 3, cancel); err != context.Canceled || len(got) != 3 {
		t.Errorf("follow: %v %v", got, err)
	}
	if _, err := told(t.Context(), client.EventSpec{Box: "nosuch", Follow: true}, -1, nil); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("follow a box that is not there: %v", err)
	}
}

// TestStoreIsNotEverybodys: a user whom the daemon serves may not change what
// others keep their boxes in.
func TestStoreIsNotEverybodys(t *testing.T) {
	r := start(t)
	ctx := t.Context()
	if s, err := r.client.InitStore(ctx, 5<<30); err != nil || s.Pool == nil || s.Pool.Size != 5<<30 {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := r.client.GrowStore(ctx, 6<<30); err != nil || s.Pool.Size != 6<<30 {
		t.Errorf("%+v %v", s, err)
	}
	if err := r.client.RemoveStore(ctx); err != nil {
		t.Error(err)
	}
	if s, err := r.client.Store(ctx); err != nil || s.Pool != nil {
		t.Errorf("%+v %v", s, err)
	}
	other := start(t, func(s *Server) {
		s.uid = 0
		s.peer = func(net.Conn) (forkbox.Owner, error) { return forkbox.Owner{UID: 4002}, nil }
	})
	_, initErr := other.client.InitStore(ctx, 5<<30)
	_, growErr := other.client.GrowStore(ctx, 5<<30)
	_, lookErr := other.client.Store(ctx)
	for _, err := range []error{initErr, growErr, lookErr, other.client.RemoveStore(ctx)} {
		if forkbox.CodeOf(err) != forkbox.Denied {
			t.Errorf("a stranger: %v", err)
		}
	}
}

func TestAttachToAnExec(t *testing.T) {
	r := start(t)
	inR, inW := pipe(t)
	outR, outW := pipe(t)
	session, err := r.client.AttachExec(t.Context(), "b1", "3", forkbox.Stdio{In: inR, Out: outW})
	if err != nil {
		t.Fatal(err)
	}
	inR.Close()
	outW.Close()
	inW.WriteString("you")
	inW.Close()
	if text, _ := io.ReadAll(outR); string(text) != "hello you" || session.Info().ID != "3" {
		t.Errorf("%q %+v", text, session.Info())
	}
	if err := session.Signal(t.Context(), 2); err != nil {
		t.Error(err)
	}
	eventually(t, "the signal arrives", func() bool {
		r.engine.mu.Lock()
		defer r.engine.mu.Unlock()
		return len(r.engine.signals) == 1
	})
	close(r.engine.exited)
	if exec, err := session.Wait(t.Context()); err != nil || exec.Exit.Code != 7 {
		t.Errorf("%+v %v", exec, err)
	}
	if _, err := r.client.AttachExec(t.Context(), "b1", "ended", forkbox.Stdio{}); forkbox.CodeOf(err) != forkbox.Busy {
		t.Errorf("one that has ended: %v", err)
	}
}

// TestLeavingAnAttachedExecKeepsIt: a client that joined only looked on.
func TestLeavingAnAttachedExecKeepsIt(t *testing.T) {
	r := start(t)
	_, outW := pipe(t)
	session, err := r.client.AttachExec(t.Context(), "b1", "3", forkbox.Stdio{Out: outW})
	if err != nil {
		t.Fatal(err)
	}
	session.Close()
	r.idle.wait(t.Context()) // the server has noticed
	select {
	case <-r.engine.killed:
		t.Error("killed")
	default:
	}
}
