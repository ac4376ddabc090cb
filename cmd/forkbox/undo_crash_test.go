//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestPromise2UndoKilledAtItsSteps has the daemon end before one change to files
// of an undo after the other. What the next one finds is all or nothing, and the
// undo and an apply work when they are asked for then.
func TestPromise2UndoKilledAtItsSteps(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	newGrower(w.ws, 7).sprout(20)
	manyFiles(w, 3)
	box := w.fork("box")
	w.in(box, "sh", "-c", changeMany)
	c := &killer{landWorld: w, box: box, before: w.reality(), after: w.boxTree(box), seen: map[bool]int{}}
	w.apply(box, "--all", ".")
	steps := 0
	for died := true; died; steps++ {
		c.doing = fmt.Sprint("step ", steps)
		died = c.undoDying(steps)
		states := c.states()
		isLanded := c.side(states)
		c.seen[isLanded]++
		c.agree(states, isLanded)
		c.noStaging(c.doing)
		if isLanded {
			c.fb("undo", "--yes")
			c.mustBe("after the undo was repeated", false)
		}
		c.apply(box, "--all", ".")
		c.mustBe("after an apply", true)
	}
	t.Logf("%d steps; before the undo: %d, after it: %d", steps-1, c.seen[true], c.seen[false])
	if c.seen[true] == 0 || c.seen[false] == 0 {
		t.Error("it was not killed on both sides")
	}
}

// undoDying says whether the daemon ended in the undo, before its nth change.
func (c *killer) undoDying(nth int) (died bool) {
	c.Helper()
	last := dieAt(c.home)
	c.ok(os.WriteFile(last, []byte(strconv.Itoa(nth)), 0o644))
	begun, err := os.ReadFile(filepath.Join(c.home, "daemon.pid"))
	c.ok(err)
	_ = c.command("undo", "--yes").Run() // it fails with its daemon, or was done
	c.ok(os.RemoveAll(last))
	c.fb("receipts") // starts the next daemon, if need be
	now, err := os.ReadFile(filepath.Join(c.home, "daemon.pid"))
	c.ok(err)
	if died = string(now) != string(begun); !died {
		c.kill() // or it would go on counting
	}
	return died
}

// TestUndoOnAFullStoreCanBeRepeated: the store is full when an undo wants to
// write down what it did. It has not happened then, and when there is room again
// it works.
func TestUndoOnAFullStoreCanBeRepeated(t *testing.T) {
	inMountsOfItsOwn(t, func(t *testing.T) {
		w := newLandWorld(t)
		w.storeOn("ext4")
		manyFiles(w, 200)
		box := w.fork("box")
		w.in(box, "sh", "-c", changeMany)
		c := &killer{landWorld: w, box: box, before: w.reality(), after: w.boxTree(box)}
		id := w.apply(box, "--all", ".")
		w.fillStore()
		filler := filepath.Join(w.home, "filler")
		info, err := os.Stat(filler)
		w.ok(err)
		w.ok(os.Truncate(filler, info.Size()-64<<10)) // for the ledger, and not for the journal
		if _, err := w.try("undo", "--yes"); err == nil {
			t.Fatal("the disk is not full")
		} else {
			t.Log(err)
		}
		if state := c.states()[id]; !c.side(nil) || state != forkbox.Landing && state != forkbox.Applied {
			t.Errorf("that the changes are in reality is %v, and the receipt is %s", c.side(nil), state)
		}
		w.ok(os.Remove(filler))
		w.fb("undo", "--yes")
		if c.side(nil) {
			t.Error("it says that it was undone, and it was not")
		}
		w.apply(box, "--all", ".")
		if !c.side(nil) {
			t.Error("then it cannot be applied")
		}
	})
}
