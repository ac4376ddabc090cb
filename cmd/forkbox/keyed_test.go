//go:build linux

package main

import (
	"archive/tar"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// keyedWorld is a world and a client of its daemon.
func keyedWorld(t *testing.T) (w *world, c *client.Client) {
	t.Helper()
	w = newWorld(t)
	return w, w.newClient()
}

// TestAKeyMakesOneBox of twenty requests at once, and of one more after the daemon
// was started anew.
func TestAKeyMakesOneBox(t *testing.T) {
	t.Parallel()
	w, c := keyedWorld(t)
	w.must("ls")
	ctx := client.WithKey(t.Context(), "one of twenty")
	var all sync.WaitGroup
	ids := make([]string, 20)
	for i := range ids {
		all.Go(func() {
			box, err := c.Create(ctx, api.CreateRequest{})
			if ids[i] = box.ID; err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.stop()
	w.must("ls")
	box, err := c.Create(ctx, api.CreateRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if id != box.ID {
			t.Errorf("there are %s and %s", id, box.ID)
		}
	}
	if boxes, err := c.Boxes(t.Context()); err != nil || len(boxes) != 1 {
		t.Errorf("%v %v", boxes, err)
	}
	if _, err := c.Create(ctx, api.CreateRequest{Name: "other"}); forkbox.CodeOf(err) != forkbox.Invalid {
		t.Errorf("another request with the key: %v", err)
	}
}

// TestAKilledDaemonMakesNoSecondBox: it is killed at ever later moments of a box's
// making. Whatever the moment, the same request to the next daemon has the box, or is
// told what became of it; there is never a second one.
func TestAKilledDaemonMakesNoSecondBox(t *testing.T) {
	t.Parallel()
	for delay := time.Duration(0); delay < 12*time.Millisecond; delay += 2 * time.Millisecond {
		t.Run(delay.String(), func(t *testing.T) { killKeyed(t, delay) })
	}
}

func killKeyed(t *testing.T, delay time.Duration) {
	t.Helper()
	w, c := keyedWorld(t)
	w.must("ls")
	ctx := client.WithKey(t.Context(), "again and again")
	first := make(chan forkbox.Box, 1)
	go func() {
		box, _ := c.Create(ctx, api.CreateRequest{}) // the daemon may be gone before
		first <- box
	}()
	time.Sleep(delay) // the moment that this is about
	w.kill()
	made := <-first
	w.must("ls")
	box, err := c.Create(ctx, api.CreateRequest{})
	boxes, listed := c.Boxes(t.Context())
	switch {
	case listed != nil || len(boxes) > 1:
		t.Errorf("after a kill at %v: %v %v", delay, boxes, listed)
	case err == nil && (len(boxes) != 1 || boxes[0].ID != box.ID || made.ID != "" && made.ID != box.ID):
		t.Errorf("after a kill at %v: box %s, first %s, of %v", delay, box.ID, made.ID, boxes)
	case err != nil && forkbox.CodeOf(err) != forkbox.Conflict:
		t.Errorf("after a kill at %v: %v", delay, err)
	case err != nil && len(boxes) == 1 && !strings.Contains(err.Error(), boxes[0].ID):
		t.Errorf("after a kill at %v, with box %s: %v", delay, boxes[0].ID, err)
	case err != nil && made.ID != "":
		t.Errorf("after a kill at %v the answer was given and not kept: %v", delay, err)
	}
}

// TestAnUploadThatTheDaemonDiedUnder is not known to have come to anything, and is
// not taken again under its key.
func TestAnUploadThatTheDaemonDiedUnder(t *testing.T) {
	t.Parallel()
	w, c := keyedWorld(t)
	w.must("ls")
	ctx := client.WithKey(t.Context(), "an archive")
	body, archive := io.Pipe()
	over := make(chan error, 1)
	go func() {
		_, err := c.Import(ctx, body, forkbox.ImportSpec{})
		body.CloseWithError(io.ErrClosedPipe)
		over <- err
	}()
	tw := tar.NewWriter(archive)
	if err := tw.WriteHeader(&tar.Header{Name: "blobs/sha256/aa", Mode: 0o644, Size: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	// More than can be on the way: the daemon has begun with it.
	if _, err := tw.Write(make([]byte, 16<<20)); err != nil {
		t.Fatal(err)
	}
	w.kill()
	archive.CloseWithError(io.ErrUnexpectedEOF)
	if err := <-over; err == nil {
		t.Fatal("it was imported")
	}
	w.must("ls")
	_, err := c.Import(ctx, strings.NewReader("another"), forkbox.ImportSpec{})
	if forkbox.CodeOf(err) != forkbox.Conflict || !strings.Contains(err.Error(), "nothing is on record that it did") {
		t.Errorf("got %v", err)
	}
}
