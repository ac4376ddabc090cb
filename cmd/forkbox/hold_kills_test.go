//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// TestHoldKills kills the daemon again and again under load: conversations with
// commands go on where they were, and no box, no exec and no byte is lost that a
// client was told of.
func TestHoldKills(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	over := client.New(filepath.Join(w.home, "forkbox.sock"))
	over.WebSocket, over.Redial = true, awaitDaemon(over)
	t.Cleanup(over.Close)
	var talks []*echo
	for i := range 3 {
		box := fmt.Sprint("talk", i)
		w.create(box, "")
		talks = append(talks, &echo{talk: w.speakOver(over, box, shell(`while read line; do echo "$1 $line"; done`, box)), box: box})
	}
	load := newKillLoad(w, over)
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, e := range talks {
		all.Go(func() { e.goOn(ctx) })
	}
	all.Go(func() { load.goOn(ctx) })
	cycles := hold(10, 200)
	for range cycles {
		var at []int64
		for _, e := range talks {
			at = append(at, e.lines.Load())
		}
		told := load.told.Load()
		w.until("every conversation and the load go on", func() bool {
			for i, e := range talks {
				if e.lines.Load() < at[i]+3 {
					return t.Failed()
				}
			}
			return load.told.Load() > told || t.Failed()
		})
		w.restart()
	}
	cancel()
	all.Wait()
	for _, e := range talks {
		e.in.Close()
		exec, said := e.ends()
		if exec.Exit.Code != 0 || said != "" {
			t.Errorf("%s: %+v, and it said %q", e.box, exec.Exit, said)
		}
		t.Logf("%s: %d lines over %d kills", e.box, e.lines.Load(), cycles)
	}
	load.check()
}

// awaitDaemon is a Redial that waits until a daemon listens again, as one that
// starts daemons would start it.
func awaitDaemon(c *client.Client) func(context.Context) error {
	return func(ctx context.Context) error {
		for ctx.Err() == nil {
			if probe := client.New(c.Socket()); probe.Ping(ctx) == nil {
				probe.Close()
				return nil
			}
			time.Sleep(5 * time.Millisecond)
		}
		return ctx.Err()
	}
}

// echo is a conversation with a command that says what it hears.
type echo struct {
	*talk
	box   string
	lines atomic.Int64
}

// goOn says one line after another, and hears each before the next.
func (e *echo) goOn(ctx context.Context) {
	for ctx.Err() == nil {
		n := e.lines.Load()
		if _, err := fmt.Fprintf(e.in, "line %d\n", n); err != nil {
			e.w.Errorf("%s does not hear line %d: %v", e.box, n, err)
			return
		}
		got, err := e.said.ReadString('\n')
		if want := fmt.Sprintf("%s line %d\n", e.box, n); got != want || err != nil {
			e.w.Errorf("%s said %q, not %q (%v)", e.box, got, want, err)
			return
		}
		e.lines.Add(1)
	}
}

// killLoad makes boxes and runs commands in them for as long as it may, and
// remembers what it was told that it had made.
type killLoad struct {
	*limitWorld
	over  *client.Client
	boxes []string
	execs map[string]string // what each was to write, by BOX/EXEC
	told  atomic.Int64      // how many execs those are
}

func newKillLoad(w *limitWorld, over *client.Client) *killLoad {
	return &killLoad{limitWorld: w, over: over, execs: map[string]string{}}
}

// goOn does not mind what fails: the daemon is being killed.
func (l *killLoad) goOn(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		if i%5 == 0 {
			box, err := l.over.Create(ctx, api.CreateRequest{Net: "none", Dir: l.root})
			if err == nil {
				l.boxes = append(l.boxes, box.ID)
			}
		}
		if len(l.boxes) == 0 {
			continue
		}
		box, text := l.boxes[len(l.boxes)-1], fmt.Sprint("text ", i)
		exec, err := l.over.ExecDetached(ctx, box, shell("echo $1", text))
		if err == nil {
			l.execs[box+"/"+exec.ID] = text + "\n"
			l.told.Add(1)
		}
	}
}

// check looks for all that it was told.
func (l *killLoad) check() {
	l.Helper()
	boxes, err := l.Boxes(l.Context())
	l.ok(err)
	there := map[string]bool{}
	for _, b := range boxes {
		there[b.ID] = true
	}
	for _, id := range l.boxes {
		if !there[id] {
			l.Errorf("box %s is lost", id)
		}
	}
	for at, want := range l.execs {
		box, id, _ := strings.Cut(at, "/")
		exec, err := l.WaitExec(l.Context(), box, id, "")
		l.ok(err)
		var got strings.Builder
		l.ok(l.Logs(l.Context(), box, id, false, func(r forkbox.LogRecord) error { got.Write(r.Data); return nil }))
		if exec.Exit == nil || exec.Exit.Code != 0 || got.String() != want {
			l.Errorf("exec %s ended with %+v and wrote %q, not %q", at, exec.Exit, got.String(), want)
		}
	}
	l.Logf("%d boxes and %d execs are all there", len(l.boxes), len(l.execs))
	if len(l.boxes) == 0 || len(l.execs) == 0 {
		l.Error("there was no load")
	}
}
