package engine

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

func TestCreate(t *testing.T) {
	w := newWorld(t)
	b := w.create("")
	if err := core.CheckName(b.Name); err != nil || !strings.Contains(b.Name, "-") {
		t.Errorf("generated name %q: %v", b.Name, err)
	}
	if b.State != forkbox.Stopped || b.Net != forkbox.NetNone || b.Dir != ada.Home || b.Base.Kind != "reality" || b.Base.Fence.IsZero() {
		t.Errorf("got %+v", b)
	}
	if !slices.Equal(b.Env, []string{"A=1"}) {
		t.Errorf("the environment is kept as %v", b.Env)
	}
}

func TestCreateRefuses(t *testing.T) {
	w := newWorld(t)
	w.create("taken")
	for _, c := range []struct {
		spec CreateSpec
		code forkbox.Code
	}{
		{CreateSpec{Name: "taken"}, forkbox.Exists},
		{CreateSpec{Name: "Upper"}, forkbox.Invalid},
		{CreateSpec{Name: "-dash"}, forkbox.Invalid},
		{CreateSpec{Name: "a/b"}, forkbox.Invalid},
		{CreateSpec{Name: strings.Repeat("z", 64)}, forkbox.Invalid},
		{CreateSpec{Name: "0123456789ab"}, forkbox.Invalid},
		{CreateSpec{Name: "reality"}, forkbox.Invalid},
		{CreateSpec{From: "ubuntu:24.04"}, forkbox.Invalid},
		{CreateSpec{Dir: "src"}, forkbox.Invalid},
		{CreateSpec{Net: "Wi-Fi"}, forkbox.Invalid},
		{CreateSpec{Net: "team:wifi"}, forkbox.Unsupported}, // a team, and there are no gates
	} {
		_, err := w.Create(t.Context(), ada, c.spec)
		wantCode(t, err, c.code)
	}
	if boxes, _ := w.Boxes(t.Context(), ada); len(boxes) != 1 {
		t.Errorf("there are %d boxes", len(boxes))
	}
}

func TestCreateThatFailsLeavesNothing(t *testing.T) {
	w := newWorld(t)
	w.host.fail("prepare", errors.New("disk full"))
	_, err := w.Create(t.Context(), ada, CreateSpec{Name: "one"})
	wantCode(t, err, forkbox.Internal)
	check(t, w.disagreement())
	if boxes, _ := w.Boxes(t.Context(), ada); len(boxes) != 0 || w.Busy() {
		t.Errorf("left %v; busy: %v", boxes, w.Busy())
	}

	// What cannot be cleared away stays in the ledger, where rm finds it.
	w.host.fail("remove", errors.New("disk broken"))
	_, err = w.Create(t.Context(), ada, CreateSpec{Name: "one"})
	wantCode(t, err, forkbox.Internal)
	_, err = w.Exec(t.Context(), ada, "one", command("true"), forkbox.Stdio{})
	wantCode(t, err, forkbox.Busy)
	w.host.fail("remove", nil)
	check(t, w.Remove(t.Context(), ada, "one", false))
	check(t, w.disagreement())
}

func TestHundredCreatesAtOnce(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if _, err := w.Create(t.Context(), ada, CreateSpec{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	boxes, err := w.Boxes(t.Context(), ada)
	check(t, err)
	if len(boxes) != 100 || w.Busy() {
		t.Errorf("%d boxes; busy: %v", len(boxes), w.Busy())
	}
	check(t, w.disagreement())
}

func TestResolve(t *testing.T) {
	w := newWorld(t)
	for id, name := range map[string]string{"aa0000000001": "otter", "aa0000000002": "ot", "bb0000000003": "otters"} {
		check(t, w.ledger.AddBox(t.Context(), forkbox.Box{ID: id, Name: name, Owner: ada, State: forkbox.Stopped}))
	}
	check(t, w.ledger.AddBox(t.Context(), forkbox.Box{ID: "cc0000000004", Name: "secret", Owner: bob, State: forkbox.Stopped}))
	for _, c := range []struct {
		ref, want string
		code      forkbox.Code
	}{
		{"otter", "aa0000000001", ""},
		{"ot", "aa0000000002", ""},
		{"otters", "bb0000000003", ""},
		{"bb", "bb0000000003", ""},
		{"aa0000000002", "aa0000000002", ""},
		{"ott", "", forkbox.Ambiguous},
		{"aa", "", forkbox.Ambiguous},
		{"", "", forkbox.Invalid},
		{"whale", "", forkbox.NotFound},
		{"secret", "", forkbox.NotFound},
		{"cc0000000004", "", forkbox.NotFound},
	} {
		b, err := w.Box(t.Context(), ada, c.ref)
		if c.code != "" {
			wantCode(t, err, c.code)
			continue
		}
		if err != nil || b.ID != c.want {
			t.Errorf("%q is %s, %v", c.ref, b.ID, err)
		}
	}
	_, err := w.Box(t.Context(), ada, "ott")
	if !strings.Contains(err.Error(), "otter (aa0000000001)") || !strings.Contains(err.Error(), "otters (bb0000000003)") {
		t.Errorf("%v does not list the candidates", err)
	}
}

func TestEverybodySeesTheirOwn(t *testing.T) {
	w := newWorld(t)
	w.create("hers")
	for _, who := range []forkbox.Owner{bob, root} {
		if boxes, err := w.Boxes(t.Context(), who); err != nil || len(boxes) != 0 {
			t.Errorf("%s sees %v, %v", who.Name, boxes, err)
		}
	}
	_, err := w.AllBoxes(t.Context(), bob)
	wantCode(t, err, forkbox.Denied)
	if boxes, err := w.AllBoxes(t.Context(), root); err != nil || len(boxes) != 1 {
		t.Errorf("root sees %v, %v", boxes, err)
	}
}
