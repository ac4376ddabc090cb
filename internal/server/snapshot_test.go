package server

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// TestSnapshotRoutes: what the client is asked for is what the engine is.
func TestSnapshotRoutes(t *testing.T) {
	r := start(t)
	ctx, c := t.Context(), r.client
	n := 2
	for _, row := range []struct {
		call func() (any, error)
		ref  string
		spec any
	}{
		{func() (any, error) { return c.Snapshot(ctx, "b1", forkbox.SnapshotSpec{Name: "s", Message: "m"}) }, "b1", forkbox.SnapshotSpec{Name: "s", Message: "m"}},
		{func() (any, error) { return c.Snapshots(ctx, "b1") }, "b1", nil},
		{func() (any, error) { return c.Rollback(ctx, "b1", forkbox.RollbackSpec{To: "s", Force: true}) }, "b1", forkbox.RollbackSpec{To: "s", Force: true}},
		{func() (any, error) { return c.Fork(ctx, "b1", forkbox.ForkSpec{Name: "c", Count: n}) }, "b1", forkbox.ForkSpec{Name: "c", Count: n}},
		{func() (any, error) { return c.Fork(ctx, "b1@a b", forkbox.ForkSpec{}) }, "b1@a b", forkbox.ForkSpec{}},
		{func() (any, error) { return c.Fork(ctx, "b1@", forkbox.ForkSpec{Net: forkbox.NetHost}) }, "b1@", forkbox.ForkSpec{Net: forkbox.NetHost}},
		{func() (any, error) { return nil, c.RemoveSnapshot(ctx, "b1@s", false) }, "b1@s", false},
		{func() (any, error) { return nil, c.RemoveSnapshot(ctx, "b1@s", true) }, "b1@s", true},
		{func() (any, error) { return nil, c.RemoveSnapshot(ctx, "b1@a/b", true) }, "b1@a/b", true},
		{func() (any, error) { return c.CreateTemplate(ctx, forkbox.TemplateSpec{Name: "t", From: "b1@s"}) }, "t", forkbox.TemplateSpec{Name: "t", From: "b1@s"}},
		{func() (any, error) { return nil, c.RemoveTemplate(ctx, "t") }, "t", nil},
		{func() (any, error) { return c.WarmTemplate(ctx, "t", 0) }, "t", 0},
		{func() (any, error) { return c.WarmTemplate(ctx, "t", 3) }, "t", 3},
		{func() (any, error) { return c.Keep(ctx, "b1", true) }, "b1", true},
		{func() (any, error) { return c.Keep(ctx, "b1", false) }, "b1", false},
		{func() (any, error) { return c.GC(ctx, forkbox.GCSpec{DryRun: true, IdleFor: time.Hour, MaxSize: 5}) }, "gc", forkbox.GCSpec{DryRun: true, IdleFor: time.Hour, MaxSize: 5}},
	} {
		r.engine.fakeLayers = fakeLayers{}
		if _, err := row.call(); err != nil {
			t.Errorf("%s %+v: %v", row.ref, row.spec, err)
		}
		if got := r.engine; !reflect.DeepEqual(got.refs, []string{row.ref}) || !reflect.DeepEqual(got.asked, []any{row.spec}) {
			t.Errorf("asked for %s %+v, the engine got %v %+v", row.ref, row.spec, got.refs, got.asked)
		}
		r.engine.failure = forkbox.Errorf(forkbox.Busy, "do it", "not now").Hint("--force")
		if _, err := row.call(); forkbox.CodeOf(err) != forkbox.Busy {
			t.Errorf("%s %+v: the engine's error became %v", row.ref, row.spec, err)
		}
	}
}

func TestListsHaveNoEnvironment(t *testing.T) {
	r := start(t)
	ctx := t.Context()
	if family, err := r.client.Family(ctx); err != nil || len(family.Boxes) != 1 || family.Boxes[0].Env != nil {
		t.Error(family, err)
	}
	if list, err := r.client.Templates(ctx); err != nil || len(list) != 1 || list[0].Env != nil {
		t.Error(list, err)
	}
	if back, err := r.client.Rollback(ctx, "b1", forkbox.RollbackSpec{}); err != nil || back.Box.Env != nil {
		t.Error(back, err)
	}
	if usage, err := r.client.Usage(ctx); err != nil || usage.Total != 7 || usage.Items == nil {
		t.Error(usage, err)
	}
	if status, text := r.raw(t, "GET", "/v1/boxes/b1/snapshots", ""); status != 200 || strings.TrimSpace(text) != `{"snapshots":[]}` {
		t.Error(status, text)
	}
}

// TestChildrenFailByThemselves: each error arrives with its code and hints.
func TestChildrenFailByThemselves(t *testing.T) {
	r := start(t)
	fork, err := r.client.Fork(t.Context(), "b1", forkbox.ForkSpec{Count: 2})
	if err != nil || len(fork.Children) != 2 {
		t.Fatal(fork, err)
	}
	good, bad := fork.Children[0], fork.Children[1]
	if good.Error != nil || good.Box.Name != "c1" || good.Box.Env != nil {
		t.Errorf("%+v", good)
	}
	if bad.Box != nil || bad.Error.Code != forkbox.Exists || len(bad.Error.Hints) != 1 {
		t.Errorf("%+v", bad)
	}
}

// TestNothingIsGuessed: a request that is not understood does nothing.
func TestNothingIsGuessed(t *testing.T) {
	r := start(t)
	for _, row := range []struct{ method, path string }{
		{"POST", "/v1/gc"}, {"POST", "/v1/boxes/b1/rollback"}, {"POST", "/v1/boxes/b1/fork"}, {"POST", "/v1/boxes/b1/snapshots"},
		{"POST", "/v1/templates"}, {"POST", "/v1/templates/t/warm"}, {"PUT", "/v1/boxes/b1/keep"}, {"POST", "/v1/boxes/b1/apply"},
	} {
		for _, body := range []string{
			"", " ", "null", "[]", `"x"`, "{", `{"nosuch":1}`, `{} {}`, `{}x`, `{"force":"yes"`, "\xff", `{"dry_run":tru}`,
			"\x00", strings.Repeat(" ", maxBody+1),
		} {
			if status, text := r.raw(t, row.method, row.path, body); status != 400 || !strings.Contains(text, `"code":"invalid"`) {
				t.Errorf("%s %.40q: %d %s", row.path, body, status, text)
			}
		}
	}
	for path, bodies := range map[string][]string{
		"POST /v1/gc": {
			`{"dry_run":"true"}`, `{"dry_run":null}`, `{"max_size":"5G"}`, `{"max_size":1.5}`, `{"max_size":1e30}`, `{"older_than_ns":"7d"}`,
			`{"older_than_ns":null}`, `{"dry_run":true,"dry_run":false}`, `{"DRY_RUN":true}`, `{"idle_for_ns":[]}`, `{"unreviewed":1}`, `{"":1}`,
		},
		"POST /v1/templates/t/warm":                      {`{}`, `{"count":null}`, `{"count":-1}`, `{"count":"2"}`, `{"count":1.5}`},
		"PUT /v1/boxes/b1/keep":                          {`{}`, `{"keep":null}`, `{"keep":"off"}`},
		"POST /v1/templates":                             {`{"name":"t","from":"b1","warm":-1}`},
		"POST /v1/boxes/b1@a/fork?snapshot=b":            {`{}`},
		"POST /v1/boxes/b1/fork?snapshot=%zz":            {`{}`},
		"DELETE /v1/boxes/b1/snapshots/s?squash=perhaps": {``},
		"POST /v1/bases?kind=zip":                        {`x`},
		"POST /v1/bases":                                 {`x`},
	} {
		method, target, _ := strings.Cut(path, " ")
		for _, body := range bodies {
			if status, text := r.raw(t, method, target, body); status != 400 {
				t.Errorf("%s %s: %d %s", path, body, status, text)
			}
		}
	}
	if len(r.engine.asked)+len(r.engine.applied) > 0 {
		t.Errorf("something was done all the same: %v %+v", r.engine.refs, r.engine.asked)
	}
}

func TestGCIsAskedForExactly(t *testing.T) {
	r := start(t)
	if status, text := r.raw(t, "POST", "/v1/gc", " {} \n"); status != 200 || strings.TrimSpace(text) != `{"removed":[],"kept":[],"freed_bytes":0}` {
		t.Error(status, text)
	}
	if !reflect.DeepEqual(r.engine.asked, []any{forkbox.GCSpec{}}) {
		t.Errorf("%+v", r.engine.asked)
	}
}

func TestCreateFromAndTemplate(t *testing.T) {
	r := start(t)
	if _, err := r.client.Create(t.Context(), api.CreateRequest{From: "b1@s"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.client.Create(t.Context(), api.CreateRequest{Template: "t"}); err != nil {
		t.Fatal(err)
	}
	if got := r.engine.created; got[0].From != "b1@s" || got[1].Template != "t" {
		t.Errorf("%+v", got)
	}
	if _, err := r.client.Fork(t.Context(), "..", forkbox.ForkSpec{}); err != nil && !errors.As(err, new(*forkbox.Error)) {
		t.Error(err)
	}
}
