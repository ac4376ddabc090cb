package engine

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/boxes"
)

// onlyHome finds the one variable that these tests have.
func onlyHome(env []string, home, _ string, _ []string) (places []string) {
	for _, kv := range env {
		if path, ok := strings.CutPrefix(kv, "HOME="); ok && path != home {
			places = append(places, kv)
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

func (w *world) wantPlaces(ref string, want ...string) {
	w.t.Helper()
	b, err := w.Box(w.t.Context(), ada, ref)
	check(w.t, err)
	if !slices.Equal(b.Places, want) {
		w.t.Errorf("%s hides %q, not %q", ref, b.Places, want)
	}
}

// TestPlacesAreTheMakersAndTheWakers: a box hides what the environment names that
// it was made with, its forks and what is made of its template do, and what the
// command has that wakes it. Nothing ever becomes less.
func TestPlacesAreTheMakersAndTheWakers(t *testing.T) {
	w := newLayeredWorld(t, true)
	f := &fuse{}
	w.world.restart(f, func(c *Config) {
		c.Provider = layeredProvider{fakeProvider{w.host, f}, w.shelf}
		c.Ledger = layeredLedger{fusedLedger{w.ledger, f}, &w.meanwhile}
		c.Places = onlyHome
	})
	ctx := t.Context()
	create := func(name string, env ...string) {
		_, err := w.Create(ctx, ada, CreateSpec{Name: name, Env: env})
		check(t, err)
	}
	run := func(name string, env ...string) {
		req := command("sleep")
		req.Env = env
		x, err := w.Exec(ctx, ada, name, req, forkbox.Stdio{})
		check(t, err)
		check(t, w.Kill(ctx, ada, name, x.ID, 0))
		w.wait(x)
	}
	create("usual", "HOME="+ada.Home)
	w.wantPlaces("usual")
	create("one", "HOME=/a")
	w.wantPlaces("one", "HOME=/a")
	_, err := w.Fork(ctx, ada, "one", forkbox.ForkSpec{Name: "two"})
	check(t, err)
	w.wantPlaces("two", "HOME=/a")
	_, err = w.CreateTemplate(ctx, ada, forkbox.TemplateSpec{Name: "tpl", From: "one"})
	check(t, err)
	_, err = w.Create(ctx, ada, CreateSpec{Name: "three", Template: "tpl", Env: []string{"HOME=/b"}})
	check(t, err)
	w.wantPlaces("three", "HOME=/a", "HOME=/b")

	run("two", "HOME=/c")
	w.wantPlaces("two", "HOME=/a", "HOME=/c")
	run("two", "HOME=/d") // it runs, and so shows what it showed
	w.wantPlaces("two", "HOME=/a", "HOME=/c")
	_, err = w.Stop(ctx, ada, "two", nil)
	check(t, err)
	run("two", "HOME="+ada.Home)
	w.wantPlaces("two", "HOME=/a", "HOME=/c")
	_, err = w.Stop(ctx, ada, "two", nil)
	check(t, err)

	req := command("sleep")
	for i := range boxes.MostPlaces {
		req.ExtraEnv = append(req.ExtraEnv, "HOME=/many/"+strconv.Itoa(i))
	}
	_, err = w.Exec(ctx, ada, "two", req, forkbox.Stdio{})
	wantCode(t, err, forkbox.Invalid)
	w.wantPlaces("two", "HOME=/a", "HOME=/c")
}
