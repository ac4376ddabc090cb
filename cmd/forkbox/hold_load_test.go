//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// TestHoldLoad: with many live boxes and many callers at once every request is
// answered, and the daemon takes no more at the end than when it had warmed up.
func TestHoldLoad(t *testing.T) {
	t.Parallel()
	w := newHoldWorld(t, "127.0.0.1:0")
	l := &holdLoad{limitWorld: w, clients: []*client.Client{w.Client, newHoldClient(w)}}
	for i := range hold(30, 300) {
		box, err := w.Create(t.Context(), api.CreateRequest{Name: fmt.Sprint("live", i), Dir: w.root, Net: "none"})
		w.ok(err)
		_, err = w.Start(t.Context(), box.ID)
		w.ok(err)
		l.boxes = append(l.boxes, box.ID)
	}
	callers, rest := hold(10, 50), time.Duration(hold(5, 300))*time.Second
	l.run(callers, rest/5)
	warm := w.measure()
	l.took = nil
	l.run(callers, rest)
	end := w.measure()
	if t.Failed() {
		return
	}
	slices.Sort(l.took)
	t.Logf("%d boxes, %d callers, %v: %d requests, p50 %v, p99 %v; from %v to %v", len(l.boxes), callers, rest, len(l.took),
		l.took[len(l.took)/2], l.took[len(l.took)*99/100], warm, end)
	if end.bytes > warm.bytes*3/2+(8<<20) || end.goroutines > warm.goroutines*3/2+20 {
		t.Errorf("the daemon grows: from %v to %v", warm, end)
	}
}

// newHoldClient reaches the daemon over HTTPS, as any program would.
func newHoldClient(w *limitWorld) *client.Client {
	w.Helper()
	made, err := w.CreateToken(w.Context(), api.TokenRequest{Scopes: []string{"boxes", "exec", "files"}, Life: time.Hour})
	w.ok(err)
	at, err := w.Listeners(w.Context())
	w.ok(err)
	c, err := client.NewRemote(client.Remote{URL: at[0].URL, Token: made.Token, Pin: at[0].Fingerprint})
	w.ok(err)
	w.Cleanup(c.Close)
	return c
}

// holdLoad is many callers of one daemon.
type holdLoad struct {
	*limitWorld
	clients []*client.Client
	boxes   []string

	mu   sync.Mutex
	took []time.Duration
}

// run has so many callers ask one thing after another.
func (l *holdLoad) run(callers int, rest time.Duration) {
	end := time.Now().Add(rest)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := caller; time.Now().Before(end) && !l.Failed(); i += callers {
				began := time.Now()
				if err := l.ask(l.clients[i%len(l.clients)], l.boxes[i%len(l.boxes)], i); err != nil {
					l.Errorf("request %d: %v", i, err)
				}
				l.mu.Lock()
				l.took = append(l.took, time.Since(began))
				l.mu.Unlock()
			}
		})
	}
	all.Wait()
}

// ask is mostly what programs ask most.
func (l *holdLoad) ask(over *client.Client, box string, i int) error {
	ctx := l.Context()
	switch i / len(l.clients) % 10 {
	case 0:
		return runTrue(ctx, over, box)
	case 1:
		_, err := over.Boxes(ctx)
		return err
	case 2:
		text := fmt.Sprint("text ", i)
		name := fmt.Sprint("file", i%100)
		if _, err := over.Files(box).Write(ctx, name, bytes.NewReader([]byte(text)), client.WriteOptions{}); err != nil {
			return err
		}
		content, err := over.Files(box).Read(ctx, name, client.Span{})
		if err != nil {
			return err
		}
		defer content.Close()
		_, err = io.ReadAll(content)
		return err
	case 3:
		_, err := over.Execs(ctx, box)
		return err
	}
	_, err := over.Box(ctx, box)
	return err
}

func runTrue(ctx context.Context, over *client.Client, box string) error {
	session, err := over.Exec(ctx, box, shell("true"), forkbox.Stdio{})
	if err != nil {
		return err
	}
	defer session.Close()
	done, err := session.Wait(ctx)
	if err == nil && (done.Exit == nil || done.Exit.Code != 0) {
		err = fmt.Errorf("true ended with %+v", done.Exit)
	}
	return err
}
