//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// kills is how often the daemon is killed in each direction.
const kills = 15

// TestPromise2AllOrNothing_Killed kills the daemon at random moments of an
// apply, and of an undo. Whatever the moment, the next daemon finds reality as
// it was before or as it is after, to the inode; its receipts say which; and
// what was interrupted works when it is asked for again.
func TestPromise2AllOrNothing_Killed(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(t, 1) {
		w := newLandWorld(t)
		newGrower(w.ws, seed).sprout(60)
		manyFiles(w, 60)
		box := w.fork("box")
		w.in(box, "sh", "-c", changeMany)
		did := w.job(box, fmt.Sprint("mutate ", seed, " ", steps()))
		c := &killer{landWorld: w, box: box, rng: rand.New(rand.NewPCG(seed, 1)), before: w.reality(), after: w.boxTree(box)}
		c.doing = "measuring"
		defer func() {
			if t.Failed() {
				t.Logf("seed %d, it was %s; repeat with %s==%d; in the box:\n%s", seed, c.doing, seedsVar, seed, did)
			}
		}()
		c.run()
	}
}

// changeMany does something to every file of manyFiles.
const changeMany = "for d in many/*; do echo changed >> $d/a; rm $d/b; cp $d/a $d/new; chmod 600 $d/c; done"

// manyFiles makes landing take a while.
func manyFiles(w *landWorld, dirs int) {
	for i := range dirs {
		dir := filepath.Join(w.ws, "many", fmt.Sprint(i))
		w.ok(os.MkdirAll(dir, 0o755))
		for _, name := range []string{"a", "b", "c"} {
			w.ok(os.WriteFile(filepath.Join(dir, name), []byte(name+dir), 0o644))
		}
	}
}

// TestPromise2AnInterruptedApplyCanBeRepeated: what a crash made undone is not
// what a user did to reality. The box lands as if nothing had happened,
// without a word about conflicts.
func TestPromise2AnInterruptedApplyCanBeRepeated(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	manyFiles(w, 150)
	box := w.fork("box")
	w.in(box, "sh", "-c", changeMany)
	c := &killer{landWorld: w, box: box, before: w.reality(), after: w.boxTree(box), seen: map[bool]int{}}
	for range 10 {
		cmd := c.command("apply", "--all", "--yes", box, ".")
		w.ok(cmd.Start())
		for range 10000 { // it may have been quicker than we look
			if c.flipping() {
				break
			}
			time.Sleep(100 * time.Microsecond)
		}
		w.kill()
		_ = cmd.Wait()
		isLanded := c.side(c.states())
		if c.seen[isLanded]++; isLanded {
			w.fb("undo", "--yes") // it was quicker
		}
	}
	t.Logf("put back by the next daemon: %d, landed: %d", c.seen[false], c.seen[true])
	c.apply(box, "--all", ".")
	c.mustBe("after the apply was repeated", true)
}

// killer interrupts applies and undos of one box.
type killer struct {
	*landWorld
	box           string
	rng           *rand.Rand
	before, after tree
	doing         string
	seen          map[bool]int // how often it was killed before it happened, and after
}

func (c *killer) run() {
	c.seen = map[bool]int{}
	start := time.Now()
	id := c.apply(c.box, "--all", ".")
	applying := time.Since(start)
	c.mustBe("after the apply", true)
	start = time.Now()
	c.fb("undo", id)
	undoing := time.Since(start)
	c.mustBe("after the undo", false)
	for n := range kills {
		c.doing = fmt.Sprintf("kill %d of an apply", n+1)
		if !c.interrupt(applying, false, "apply", "--all", "--yes", c.box, ".") {
			c.apply(c.box, "--all", ".")
		}
		c.mustBe("after the apply was repeated", true)
		c.doing = fmt.Sprintf("kill %d of an undo", n+1)
		if c.interrupt(undoing, true, "undo", "--yes") {
			c.fb("undo", "--yes")
		}
		c.mustBe("after the undo was repeated", false)
	}
	c.Logf("applies that had not landed when they were killed: %d, that had: %d", c.seen[false], c.seen[true])
}

// interrupt kills the daemon during a verb, and says whether the changes are
// in reality after the next daemon has started. from is where it began.
func (c *killer) interrupt(took time.Duration, from bool, verb ...string) (isLanded bool) {
	c.Helper()
	cmd := c.command(verb...)
	c.ok(cmd.Start())
	c.wait(took)
	c.noteReceipts()
	c.kill()
	c.noteReceipts()
	_ = cmd.Wait()       // it may have succeeded before, or fail: both are fine
	states := c.states() // and with this a new daemon has settled it
	isLanded = c.side(states)
	if !from {
		c.seen[isLanded]++
	}
	c.agree(states, isLanded)
	c.noStaging(c.doing)
	return isLanded
}

// wait until a random moment: of all the time that it takes, or of the short
// while in which reality is written to.
func (c *killer) wait(took time.Duration) {
	if c.rng.IntN(2) == 0 {
		time.Sleep(time.Duration(c.rng.Int64N(int64(took)))) // any moment is right
		return
	}
	for end := time.Now().Add(2 * took); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
		if c.flipping() {
			time.Sleep(time.Duration(c.rng.Int64N(int64(took) / 4)))
			return
		}
	}
}

// flipping says whether an apply or undo has begun to write to reality.
func (c *killer) flipping() bool {
	marks, _ := filepath.Glob(filepath.Join(c.home, "receipts", "*", "*"))
	for _, m := range marks {
		if info, err := os.Lstat(m); err == nil && info.Size() < 200 {
			text, _ := os.ReadFile(m)
			if strings.Contains(string(text), "committing") || strings.Contains(string(text), "undoing") {
				return true
			}
		}
	}
	return false
}

// noteReceipts remembers ids: one that is given up leaves no other trace.
func (c *killer) noteReceipts() {
	entries, _ := os.ReadDir(filepath.Join(c.home, "receipts"))
	for _, e := range entries {
		id, _, _ := strings.Cut(e.Name(), ".")
		c.receipts[id] = true
	}
}

// side says whether reality is after the apply; if it is neither before nor
// after, the test fails.
func (c *killer) side(states map[string]forkbox.ReceiptState) bool {
	c.Helper()
	now := c.reality()
	notBefore, notAfter := restored(now, c.before), landed(now, c.after, c.before)
	if notBefore != "" && notAfter != "" {
		log, _ := os.ReadFile(filepath.Join(c.home, "daemon.log"))
		c.Fatalf("reality is neither before nor after; receipts %v\nnot before:\n%.3000s\nnot after:\n%.3000s\n%s", states, notBefore, notAfter, log)
	}
	return notAfter == ""
}

func (c *killer) mustBe(when string, isLanded bool) {
	c.Helper()
	if c.side(nil) != isLanded {
		c.Fatalf("%s: that the changes are in reality is %v", when, !isLanded)
	}
	c.noStaging(when)
}

// agree checks that the receipts say what is true: one is applied exactly when
// reality has the changes, and none is undecided.
func (c *killer) agree(states map[string]forkbox.ReceiptState, isLanded bool) {
	c.Helper()
	applied := 0
	for id, state := range states {
		switch state {
		case forkbox.Applied:
			applied++
		case forkbox.Landing, forkbox.Torn:
			c.Fatalf("receipt %s is still %s", id, state)
		}
	}
	if applied > 1 || isLanded != (applied == 1) {
		c.Fatalf("that the changes are in reality is %v, and the receipts are %v", isLanded, states)
	}
}
