//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// started are the approaches in the order in which they began.
func started(r forkbox.Race) string {
	all := slices.Clone(r.Entries)
	slices.SortFunc(all, func(a, b forkbox.Entry) int { return a.Started.Compare(b.Started) })
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

// TestRaceSeed: the seed decides the order in which approaches begin, each finds
// a number of its own in FORKBOX_SEED, and a rerun has the same.
func TestRaceSeed(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	file := w.raceFile(`
approaches: [{name: a, run: &r 'echo $FORKBOX_SEED > s'}, {name: b, run: *r}, {name: c, run: *r}, {name: d, run: *r}, {name: e, run: *r}]
parallel: 1
`)
	orders := map[string]bool{}
	for seed := 1; seed <= 4; seed++ {
		r := w.race("-f", file, "--seed", fmt.Sprint(seed))
		orders[started(r)] = true
		if r.Spec.Seed != int64(seed) {
			t.Errorf("the seed is %d, not %d", r.Spec.Seed, seed)
		}
		again := w.race("-f", file, "--seed", fmt.Sprint(seed))
		if started(again) != started(r) {
			t.Errorf("with the same seed they began as %q and %q", started(r), started(again))
		}
		w.sameSeeds(r, again)
	}
	if len(orders) < 2 {
		t.Errorf("every seed has the order %v", orders)
	}
	r := w.race("-f", file)
	again := w.ended(w.must("race", "rerun", r.ID, "--json"))
	if r.Spec.Seed == 0 || again.Spec.Seed != r.Spec.Seed || again.Spec.Rerun != r.ID || again.ID == r.ID || again.Name == r.Name {
		t.Errorf("%s is rerun as %+v", r.Name, again.Spec)
	}
	w.sameSeeds(r, again)
}

// sameSeeds finds that each approach had a seed of its own, and the same in both.
func (w *raceWorld) sameSeeds(one, other forkbox.Race) {
	w.Helper()
	seen := map[string]bool{}
	for _, e := range one.Entries {
		seed := w.sh(e.Box, "cat s")
		if same := w.sh(w.entry(other, e.Name).Box, "cat s"); seed == "" || same != seed || seen[seed] {
			w.Errorf("%s had %q, then %q; others %v", e.Name, seed, same, seen)
		}
		seen[seed] = true
	}
}

// TestRaceParallel: no more at a time than that.
func TestRaceParallel(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	r := w.race("--n", "6", "--try", "a=sleep 0.05", "--parallel", "2")
	slices.SortFunc(r.Entries, func(a, b forkbox.Entry) int { return a.Started.Compare(b.Started) })
	for i, e := range r.Entries {
		before := 0
		for _, o := range r.Entries[:i] {
			if o.Ended.After(e.Started) {
				before++
			}
		}
		if before > 1 {
			t.Errorf("%d were not done when %s began: %+v", before, e.Name, r.Entries)
		}
	}
}

// TestRaceSamples is the same n times.
func TestRaceSamples(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	r := w.race("--name", "n", "--n", "3", "--try", "a=echo $FORKBOX_SEED > f", "--check", "test -s f")
	w.is(r, "a-1=a-2=a-3", "a-1:passed a-2:passed a-3:passed")
	w.sh("n-a-3", "test -s f")
	// Without a name they are numbered.
	r = w.race("--try", "echo 1 > f", "--try", "seq 5 > f")
	w.is(r, "try-1 try-2", "try-1:passed try-2:passed")
}

// evil is a prompt that a shell must not read.
const evil = "it's \"$(touch pwned)\" `touch pwned` $HOME \\ ; touch pwned\n\n--flag=*\t{prompt} ä\xe2\x80\xae & | > pwned"

// TestRaceAgents runs a command with prompts, which arrive as they are.
func TestRaceAgents(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.write("agent.sh", "#!/bin/sh\nprintf %s \"$1\" > said; printf %s \"$FORKBOX_PROMPT\" > env; echo \"$#\" > count; echo asked\n")
	w.write("prompt.txt", evil)
	r := w.race("--name", "ask", "--agent", "./agent.sh {prompt}", "--prompt", evil, "--prompt", "@prompt.txt", "--prompt", "plain")
	if len(r.Entries) != 3 {
		t.Fatalf("%s", told(r))
	}
	plain := 0
	for _, e := range r.Entries {
		said := strings.TrimSuffix(w.sh(e.Box, "cat said; printf .; cat env; printf .; cat count"), "1")
		switch said {
		case evil + "." + evil + ".":
		case "plain.plain.":
			plain++
		default:
			t.Errorf("the prompt arrived as %q", said)
		}
		if got := w.sh(e.Box, "ls"); strings.Contains(got, "pwned") {
			t.Errorf("a shell read the prompt: %s", got)
		}
	}
	if plain != 1 {
		t.Errorf("%d were plain", plain)
	}
	// Without a place for it, the variable has it; samples are numbered.
	r = w.race("--agent", "./agent.sh", "--prompt", evil, "--n", "2", "--check", "test -s env")
	if len(r.Entries) != 2 || r.Winner == "" {
		t.Errorf("%s", told(r))
	}
	for _, e := range r.Entries {
		if got := w.sh(e.Box, "cat env; printf .; cat count"); got != evil+".0" {
			t.Errorf("the prompt arrived as %q", got)
		}
	}
	w.refused([]string{"--prompt"}, "race", "--agent", "./agent.sh {prompt}")
}

// TestRaceEnvironment: that of the caller, of the approach, of the step; and
// checks see that of their approach.
func TestRaceEnvironment(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t, "FROM_CALLER=caller", "MY_API_TOKEN=hushhush")
	r := w.raceOf(`
name: env
approaches:
  - name: a
    env: {OWN: "a b", TOO: a}
    steps:
      - {run: 'echo "$FROM_CALLER,$OWN,$TOO,$MY_API_TOKEN," > seen', env: {TOO: step}}
      - {run: pwd >> seen, dir: /tmp}
      - {run: pwd > ../seen, dir: sub}
  - {name: b, run: 'echo "$FROM_CALLER,$OWN,$TOO," > seen'}
setup: [mkdir sub]
checks: [test "$OWN" = "a b" && env > env]
`)
	if r.Winner != "a" || w.entry(r, "b").Outcome != forkbox.OutcomeFailed {
		t.Errorf("%s", told(r))
	}
	if got := w.sh("env-a", "cat seen; cat /tmp/seen"); got != w.ws+"/sub\n/tmp" {
		t.Errorf("a ran in %q", got)
	}
	if got := w.sh("env-b", "cat seen"); got != "caller,,," {
		t.Errorf("b saw %q", got)
	}
	if record := w.must("race", "show", "env", "--json"); strings.Contains(record, "hushhush") {
		t.Error("a secret of the environment is in the record")
	}
}
