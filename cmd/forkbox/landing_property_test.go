//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// seedsVar is how many random trees to try, or "=N" for the one with seed N.
const seedsVar = "FORKBOX_TEST_SEEDS"

// seeds are those to try in this run.
func seeds(t *testing.T, byDefault int) (all []uint64) {
	t.Helper()
	text := os.Getenv(seedsVar)
	if len(text) > 1 && text[0] == '=' {
		n, err := strconv.ParseUint(text[1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return []uint64{n}
	}
	first := uint64(101) // the same ones on every run, unless more are asked for
	if n, err := strconv.Atoi(text); err == nil {
		byDefault, first = n, uint64(time.Now().UnixNano())%1e9
	}
	for i := range byDefault {
		all = append(all, first+uint64(i))
	}
	return all
}

// TestPromise2AllOrNothing_Property does random things to random trees in a
// box. An apply makes reality what the box is, an undo makes it what it was:
// bytes, modes, owners, attributes, links, holes, and the very inodes.
func TestPromise2AllOrNothing_Property(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(t, 6) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			w := newLandWorld(t)
			newGrower(w.ws, seed).sprout(60)
			w.roundTrip(w.fork("box"), seed)
		})
	}
}

func (w *landWorld) roundTrip(box string, seed uint64) {
	did := w.job(box, fmt.Sprint("mutate ", seed, " ", steps()))
	w.in(box, "touch", "at least this")
	before, want := w.reality(), w.boxTree(box)
	doing := "nothing"
	defer func() {
		if w.Failed() {
			out, _ := w.command("diff", "--all", box).CombinedOutput()
			w.Logf("it was doing %s; repeat with %s==%d; in the box:\n%s%s", doing, seedsVar, seed, did, out)
		}
	}()
	if diff := restored(w.reality(), before); diff != "" {
		w.Fatalf("reality changed before anything was applied\n%s", diff)
	}
	for round := range 2 {
		doing = fmt.Sprint("apply ", round+1)
		id := w.apply(box, "--all", ".") // others may be at work elsewhere
		w.noStaging("after the apply")
		if diff := landed(w.reality(), want, before); diff != "" {
			w.Fatalf("apply %d did not make reality the box\n%s", round+1, diff)
		}
		if id == "" {
			return
		}
		doing = fmt.Sprint("undo ", round+1)
		w.fb("undo", id)
		w.noStaging("after the undo")
		if diff := restored(w.reality(), before); diff != "" {
			w.Fatalf("undo %d did not restore reality\n%s", round+1, diff)
		}
	}
}

// steps is how much is done to a tree.
func steps() int {
	if n, err := strconv.Atoi(os.Getenv("FORKBOX_TEST_STEPS")); err == nil {
		return n
	}
	return 40
}
