//go:build linux

package main

import (
	"bufio"
	"strings"
	"testing"
)

// TestWhoWaitsIsTold: also where stderr is no terminal, a wait begins with a word.
func TestWhoWaitsIsTold(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, "admission: {pressure: {memory: 100, io: 100}}\nusers: {\"*\": {quota: {boxes: 1}}}\n")
	w.create("first", "")
	second := w.command("new", "--name", "second", "--wait", "1h")
	said, err := second.StderrPipe()
	w.ok(err)
	w.ok(second.Start())
	line, _ := bufio.NewReader(said).ReadString('\n')
	if !strings.HasPrefix(line, "waiting: 1st in line; ") || !strings.Contains(line, "has 1 box") {
		t.Errorf("it says %q", line)
	}
	w.must("rm", "-f", "first")
	w.ok(second.Wait())
}
