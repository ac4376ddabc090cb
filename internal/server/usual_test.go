package server

import (
	"os"
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// TestForksOfRealityHaveTheUsualVariables: a caller on another machine sends no
// environment, and its programs need a home and a PATH all the same, however the
// box comes to be.
func TestForksOfRealityHaveTheUsualVariables(t *testing.T) {
	run := func(r *running) error {
		in, end, err := os.Pipe()
		if err != nil {
			return err
		}
		end.Close()
		_, _, err = r.client.Run(t.Context(), runRequest(), forkbox.Stdio{In: in})
		return err
	}
	for name, make := range map[string]func(*running) error{
		"create": func(r *running) error { _, err := r.client.Create(t.Context(), api.CreateRequest{}); return err },
		"run":    run,
		"race":   func(r *running) error { _, err := r.client.StartRace(t.Context(), bareRace()); return err },
	} {
		races := newFakeRaces()
		r := start(t, withRaces(races))
		if err := make(r); err != nil {
			t.Fatal(name, err)
		}
		var env forkbox.Strings
		if len(races.started) > 0 {
			env = races.started[0].Start.Env
		} else {
			env = r.engine.created[0].Env
		}
		for _, want := range []string{"HOME=", "USER=", "PATH="} {
			if !slices.ContainsFunc(env, func(kv string) bool { return len(kv) > len(want) && kv[:len(want)] == want }) {
				t.Errorf("%s: no %s in %q", name, want, env)
			}
		}
	}
}

// bareRace says nothing of what its boxes begin as.
func bareRace() forkbox.RaceSpec {
	spec := someRace()
	spec.Start = forkbox.RaceStart{}
	return spec
}
