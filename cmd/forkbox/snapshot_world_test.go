//go:build linux

package main

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// snapWorld is a forkbox with a daemon of its own, spoken to through package
// client, and a directory of reality that its boxes change.
type snapWorld struct{ served }

// newSnapWorld has a daemon that keeps layers in one of the ways of FORKBOX_LAYERS.
func newSnapWorld(t *testing.T, store string) *snapWorld {
	t.Helper()
	w := &snapWorld{served{world: makeWorld(t, "", "reality")}}
	w.env = []string{"FORKBOX_LAYERS=" + store}
	t.Cleanup(w.end)
	w.serve()
	return w
}

func (w *snapWorld) create(name string) forkbox.Box {
	w.Helper()
	box, err := w.Create(w.Context(), api.CreateRequest{Name: name, Dir: w.root})
	w.ok(err)
	return box
}

// run runs a command in a box, in the directory of reality, and returns what
// it wrote.
func (w *snapWorld) run(box string, env []string, argv ...string) string {
	w.Helper()
	out, err := w.tryRun(box, env, argv...)
	if err != nil {
		w.Fatalf("%q in %s: %v\n%s\n%s", argv, box, err, out, w.log())
	}
	return out
}

func (w *snapWorld) tryRun(box string, env []string, argv ...string) (string, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer read.Close()
	req := api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: argv, Dir: w.root}, ExtraEnv: env}
	s, err := w.Exec(w.Context(), box, req, forkbox.Stdio{Out: write, Err: write})
	write.Close()
	if err != nil {
		return "", err
	}
	defer s.Close()
	out, readErr := io.ReadAll(read)
	done, err := s.Wait(w.Context())
	if err == nil && (done.Exit == nil || done.Exit.Code != 0) {
		err = errors.New("it failed")
	}
	return string(out), errors.Join(err, readErr)
}

func (w *snapWorld) sh(box, script string) string {
	w.Helper()
	return strings.TrimSpace(w.run(box, nil, "sh", "-c", script))
}

// layers lists the layers that are in the store.
func (w *snapWorld) layers() (names []string) {
	w.Helper()
	entries, err := os.ReadDir(filepath.Join(w.home, "layers"))
	w.ok(err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// named are the layers that boxes, snapshots and templates consist of.
func (w *snapWorld) named() map[string]bool {
	w.Helper()
	f, err := w.Family(w.Context())
	w.ok(err)
	all := map[string]bool{}
	note := func(layers ...string) {
		for _, l := range layers {
			all[l] = true
		}
	}
	for _, b := range f.Boxes {
		note(b.Layers...)
	}
	for _, s := range f.Snapshots {
		note(s.Layers...)
	}
	for _, t := range f.Templates {
		note(t.Layers...)
	}
	delete(all, "")
	return all
}

// onlyNamedLayers waits until the store has the layers that something needs
// and no others: those that nothing needs go in the background.
func (w *snapWorld) onlyNamedLayers(when string) {
	w.Helper()
	var there, named []string
	only := func() bool {
		there, named = w.layers(), slices.Sorted(maps.Keys(w.named()))
		if missing := without(named, there); len(missing) > 0 {
			w.Fatalf("%s: layers that are needed are gone: %q\n%s", when, missing, w.log())
		}
		return len(without(there, named)) == 0
	}
	if comes(only) {
		return
	}
	for _, layer := range without(there, named) {
		files, err := survey(filepath.Join(w.home, "layers", layer))
		w.Logf("layer %s has %v (%v)", layer, files, err)
	}
	w.Fatalf("%s: nothing needs %q, and they stay\n%s", when, without(there, named), w.log())
}

// without lists what is in all and not in some.
func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(x string) bool { return slices.Contains(some, x) })
}
