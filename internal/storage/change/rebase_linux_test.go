package change

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
)

// land makes a base of what the box shows, as landing all its changes does, and
// tells which directories that moved.
func (f fixture) land(t testing.TB) (landed fixture, moves []forkbox.Move) {
	t.Helper()
	for _, c := range changes(t, f.source()) {
		if c.Kind == forkbox.Renamed {
			moves = append(moves, forkbox.Move{From: c.From, To: c.Path})
		}
	}
	landed = f
	landed.base = filepath.Dir(f.base) + "/landed"
	inOverlay(t, f, "redirect_dir=on,metacopy=off", func(m string) error {
		return run(m, "rm -rf "+landed.base+"; cp -a . "+landed.base)
	})
	return landed, moves
}

func reversed(moves []forkbox.Move) (back []forkbox.Move) {
	for _, m := range moves {
		back = append(back, forkbox.Move{From: m.To, To: m.From})
	}
	return back
}

// rebase plans, and does what was planned twice, as after a crash.
func (f fixture) rebase(t testing.TB, moves []forkbox.Move) error {
	t.Helper()
	plan, err := Rebase(t.Context(), f.source(), moves)
	if err != nil {
		return err
	}
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	plan = nil
	if err := json.Unmarshal(text, &plan); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Redirected(f.source(), plan); err != nil {
			t.Fatal(err)
		}
	}
	return nil
}

// checkLanding: a box whose changes landed sees what it saw, and has nothing
// left to land. When that is undone it is as it was before.
func checkLanding(t testing.TB, rt fataler, f fixture) {
	before, told := f.view(t), lines(changes(t, f.source()))
	landed, moves := f.land(t)
	if len(moves) == 0 {
		return
	}
	if err := f.rebase(t, moves); err != nil {
		var known *forkbox.Error
		if !errors.As(err, &known) || known.Code != forkbox.Unsupported || len(f.layers) == 0 || len(known.Hints) == 0 {
			rt.Fatalf("%v of %v", err, told)
		}
		checkLanding(t, rt, f.flat(t, Flattening{}))
		return
	}
	if why := landed.view(t).differs(before); why != "" {
		rt.Fatalf("landed %v\n%s", told, why)
	}
	// What only a link differs in is a question of copying the tree.
	left := slices.DeleteFunc(changes(t, landed.source()), func(c forkbox.Change) bool { return c.Kind == forkbox.Linked })
	if len(left) > 0 {
		rt.Fatalf("landed %v\nleft %v", told, lines(left))
	}
	if err := landed.rebase(t, reversed(moves)); err != nil {
		if forkbox.CodeOf(err) == forkbox.Unsupported && len(f.layers) > 0 {
			return
		}
		rt.Fatalf("undo: %v", err)
	}
	if why := f.view(t).differs(before); why != "" {
		rt.Fatalf("undone %v\n%s", told, why)
	}
	if now := lines(changes(t, f.source())); !slices.Equal(now, told) {
		rt.Fatalf("undone %v\nnow %v", told, now)
	}
}

func TestRebase(t *testing.T) {
	for _, c := range moved {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			shell(t, f.base, smallTree)
			f.build(t, c.do)
			checkLanding(t, t, f)
		})
	}
}

func TestRebasedBoxesSeeTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		history(t, rt, overlays[1], func(f fixture, _, _ map[string]node, last bool) {
			if last {
				checkLanding(t, rt, f)
			}
		})
	})
}

// A directory lands where a layer in between has deleted something.
func TestRebaseThroughALayerThatHidesThePlace(t *testing.T) {
	f := newFixture(t)
	shell(t, f.base, smallTree)
	f.build(t, stages{"rm -r other", "echo n >d/n", "mv d other"})
	_, moves := f.land(t)
	if _, err := Rebase(t.Context(), f.source(), moves); forkbox.CodeOf(err) != forkbox.Unsupported {
		t.Errorf("%v", err)
	}
	flat := f.flat(t, Flattening{})
	if err := flat.rebase(t, moves); err != nil {
		t.Error(err)
	}
}

// A plan is read from a file, and names directories.
func TestRedirectedTouchesOnlyTheBox(t *testing.T) {
	f, src := handmade(t)
	outside := filepath.Dir(f.base) + "/outside"
	os.MkdirAll(outside+"/d", 0o755)
	for _, re := range []Redirect{{Mount: "/", Layer: outside, Path: []byte("d"), To: []byte("/x")}, {Mount: "/none", Path: []byte("d")}} {
		if err := Redirected(src, []Redirect{re}); err == nil || !strings.Contains(err.Error(), "no such") {
			t.Errorf("%v", err)
		}
	}
	if n := countMarks(t, outside, "user.overlay.redirect"); n != 0 {
		t.Error("it was written to")
	}
}
