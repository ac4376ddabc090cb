//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestASyncLosesNothingThatABoxWritesMeanwhile: a process of the box appends to a
// file that sync merges, again and again. Every line of either side is there in
// the end.
func TestASyncLosesNothingThatABoxWritesMeanwhile(t *testing.T) {
	t.Parallel()
	const syncs = 12
	w := newLandWorld(t)
	var text strings.Builder
	for i := range 40000 { // so that to read and merge it takes a while
		fmt.Fprintln(&text, "line", i)
	}
	file := filepath.Join(w.ws, "big")
	w.ok(os.WriteFile(file, []byte(text.String()), 0o644))
	box := w.fork("box")
	w.in(box, "sh", "-c", "echo box >>big")
	w.fb("exec", "-d", box, "--", "sh", "-c", "i=0; until [ -e /tmp/end ]; do i=$((i+1)); echo box $i >>big; sleep 0.003; done; echo $i >/tmp/wrote")
	done := 0
	for try := 0; done < syncs && try < 20*syncs; try++ {
		was := fmt.Sprintln("line", 1000*done)
		now := strings.Replace(text.String(), was, fmt.Sprintln("reality", done), 1)
		w.ok(os.WriteFile(file, []byte(now), 0o644))
		if out, err := w.command("sync", box).CombinedOutput(); err == nil {
			text.Reset()
			text.WriteString(now)
			done++
		} else if !strings.Contains(string(out), "held by") { // at the very moment
			t.Fatalf("%v: %s", err, out)
		}
	}
	if done < syncs {
		t.Fatalf("%d syncs of %d were not refused", done, syncs)
	}
	w.in(box, "sh", "-c", "touch /tmp/end; until [ -s /tmp/wrote ]; do sleep 0.02; done")
	wrote, err := strconv.Atoi(strings.TrimSpace(w.in(box, "cat", "/tmp/wrote")))
	w.ok(err)
	got := w.in(box, "cat", "big")
	for i := 1; i <= wrote; i++ {
		if !strings.Contains(got, fmt.Sprintln("\nbox", i)) {
			t.Errorf("the box's line %d of %d is lost", i, wrote)
		}
	}
	for i := range syncs {
		if !strings.Contains(got, fmt.Sprintln("reality", i)) {
			t.Errorf("reality's line %d is not in the box", i)
		}
	}
}
