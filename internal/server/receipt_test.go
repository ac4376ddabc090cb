package server

import (
	"errors"
	"reflect"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// TestApplyNeedsAWholeRequest: a request that was cut off, or misspelt, must
// not be taken for one that means everything.
func TestApplyNeedsAWholeRequest(t *testing.T) {
	r := start(t)
	for _, body := range []string{"", "{", `{"all":tru}`, `{"al":true}`, `{"paths":"/a"}`, `{} {}`, "null x"} {
		if status, text := r.raw(t, "POST", "/v1/boxes/b1/apply", body); status != 400 {
			t.Errorf("apply with body %q: %d %s", body, status, text)
		}
	}
	for _, path := range []string{"/v1/receipts/r1/undo", "/v1/boxes/b1/discard"} {
		if status, text := r.raw(t, "POST", path, `{"forceall":`); status != 400 {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if len(r.engine.applied)+len(r.engine.undone) != 0 {
		t.Errorf("it was done all the same: %+v %+v", r.engine.applied, r.engine.undone)
	}
}

// TestOddPathsArrive: paths are bytes, whatever the encoding on the way.
func TestOddPathsArrive(t *testing.T) {
	r := start(t)
	paths := forkbox.Strings{"/a b", "/new\nline", "/bad\xff", "/per%cent&x=1"}
	spec := forkbox.DiffSpec{Selection: forkbox.Selection{Paths: paths, All: true}, Patch: true, Hash: true, Renames: true, Stat: true, Against: "b2"}
	if _, err := r.client.Changes(t.Context(), "b1", spec, func(forkbox.Change) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r.engine.diffed, spec) {
		t.Errorf("diff was asked for %+v, the engine got %+v", spec, r.engine.diffed)
	}
	want := forkbox.ApplySpec{
		Selection: forkbox.Selection{Paths: paths, Exact: true}, Reviewed: "h", Conflict: forkbox.Ours,
		Hunks: []forkbox.HunkSelection{{Bytes: []byte("/bad\xff"), Hunks: []int{1, 3}, Fine: true}},
	}
	if _, err := r.client.Apply(t.Context(), "b1", want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r.engine.applied, []forkbox.ApplySpec{want}) {
		t.Errorf("apply was asked for %+v, the engine got %+v", want, r.engine.applied)
	}
}

// TestConflictsAreListed: an error brings its paths along.
func TestConflictsAreListed(t *testing.T) {
	r := start(t)
	_, err := r.client.Apply(t.Context(), "b1", forkbox.ApplySpec{Reviewed: "stale"})
	var e *forkbox.Error
	if !errors.As(err, &e) || e.Code != forkbox.Conflict || len(e.Items) != 1 || e.Items[0].Path != "/src/a" {
		t.Errorf("got %+v", e)
	}
}

func TestReceiptRoutes(t *testing.T) {
	r := start(t)
	ctx := t.Context()
	if list, err := r.client.Receipts(ctx); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
	if got, err := r.client.Receipt(ctx, "r1"); err != nil || got.ID != "r1" {
		t.Error(got, err)
	}
	if got, err := r.client.Undo(ctx, "r1", api.UndoRequest{Force: []string{"/a"}}); err != nil || got.State != forkbox.Undone {
		t.Error(got, err)
	}
	if got, err := r.client.Discard(ctx, "b1", forkbox.Selection{Paths: []string{"/a"}}); err != nil || len(got.Paths) != 1 {
		t.Error(got, err)
	}
	if got, err := r.client.Status(ctx, "b1"); err != nil || got.Root != "/src" {
		t.Error(got, err)
	}
	if got, err := r.client.Sync(ctx, "b1"); err != nil || len(got.Merged) != 1 {
		t.Error(got, err)
	}
}
