//go:build linux

package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// TestHoldTerminals: many at once, in a few boxes and from another machine: each
// hears itself and no other.
func TestHoldTerminals(t *testing.T) {
	t.Parallel()
	w := newHoldWorld(t, "127.0.0.1:0")
	over := newRemoteClient(w)
	boxes := []string{"one", "two", "three", "four"}
	for _, name := range boxes {
		w.create(name, "")
	}
	var all []*talk
	for i := range hold(40, 200) {
		req := shell("stty -echo; echo ready $1; read line; echo $1 heard $line; exit $(($1 % 100))", fmt.Sprint(i))
		req.TTY = true
		all = append(all, w.speakOver(over, boxes[i%len(boxes)], req))
	}
	for i, s := range all {
		s.hears(fmt.Sprintf("ready %d\r\n", i))
	}
	for i, s := range all {
		s.says(fmt.Sprint("line ", i))
	}
	for i, s := range all {
		s.hears(fmt.Sprintf("%d heard line %d\r\n", i, i))
		if exec, said := s.ends(); exec.Exit.Code != i%100 || said != "" {
			t.Errorf("%d: %+v, and it said %q", i, exec.Exit, said)
		}
	}
}

// speakOver starts a command whose stdin and output the test holds.
func (w *limitWorld) speakOver(over *client.Client, box string, req api.ExecRequest) *talk {
	w.Helper()
	inside, in, err := os.Pipe()
	w.ok(err)
	out, outside, err := os.Pipe()
	w.ok(err)
	s, err := over.Exec(w.Context(), box, req, forkbox.Stdio{In: inside, Out: outside, Err: outside})
	inside.Close()
	outside.Close()
	w.Cleanup(func() { in.Close(); out.Close() })
	w.ok(err)
	return &talk{task: newTask(w, s, in, out)}
}
