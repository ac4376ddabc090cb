package server

import (
	"context"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// full is a server whose host has no room.
func full(t *testing.T) *running {
	r := start(t)
	r.engine.full = true
	return r
}

func (r *running) waiting() int {
	list, err := r.client.Queue(context.Background())
	if err != nil {
		return -1
	}
	return len(list)
}

func runRequest() api.RunRequest { return api.RunRequest{Exec: command("cat")} }

// TestWhoGivesUpLeavesTheQueue: nothing waits, and later starts, for a caller
// that has gone.
func TestWhoGivesUpLeavesTheQueue(t *testing.T) {
	for name, ask := range map[string]func(*running, context.Context) error{
		"create": func(r *running, ctx context.Context) error {
			_, err := r.client.Create(ctx, api.CreateRequest{})
			return err
		},
		"exec": func(r *running, ctx context.Context) error {
			_, err := r.client.Exec(ctx, "b1", command("cat"), forkbox.Stdio{})
			return err
		},
		"detached": func(r *running, ctx context.Context) error {
			_, err := r.client.ExecDetached(ctx, "b1", command("cat"))
			return err
		},
		"run": func(r *running, ctx context.Context) error {
			_, _, err := r.client.Run(ctx, runRequest(), forkbox.Stdio{})
			return err
		},
	} {
		r := full(t)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { failed <- ask(r, ctx) }()
		eventually(t, name+" waits", func() bool { return r.waiting() == 1 })
		cancel()
		if err := <-failed; err == nil {
			t.Errorf("%s: succeeded", name)
		}
		eventually(t, name+" does not wait any more", func() bool { return r.waiting() == 0 })
		if len(r.engine.created)+len(r.engine.execs) > 0 {
			t.Errorf("%s: something was started all the same", name)
		}
	}
}

// TestBoxOfARunThatGaveUpIsNamed: its caller has to take it away again.
func TestBoxOfARunThatGaveUpIsNamed(t *testing.T) {
	r := start(t)
	r.engine.onCreated = func() {
		r.engine.queue.Lock()
		defer r.engine.queue.Unlock()
		r.engine.full = true
	}
	ctx, cancel := context.WithCancel(t.Context())
	type answer struct {
		box forkbox.Box
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		box, _, err := r.client.Run(ctx, runRequest(), forkbox.Stdio{})
		answers <- answer{box, err}
	}()
	eventually(t, "the command waits", func() bool { return r.waiting() == 1 })
	cancel()
	if a := <-answers; a.err == nil || a.box.ID != "b1" {
		t.Errorf("%+v", a)
	}
}

// TestStoppingEmptiesTheQueue: a daemon that stops keeps no client waiting.
func TestStoppingEmptiesTheQueue(t *testing.T) {
	r := full(t)
	failed := make(chan error, 2)
	go func() {
		_, err := r.client.Create(t.Context(), api.CreateRequest{})
		failed <- err
	}()
	go func() {
		_, _, err := r.client.Run(t.Context(), runRequest(), forkbox.Stdio{})
		failed <- err
	}()
	eventually(t, "both wait", func() bool { return r.waiting() == 2 })
	r.cancel()
	for range 2 {
		if err := <-failed; forkbox.CodeOf(err) != forkbox.Unavailable {
			t.Errorf("%v", err)
		}
	}
}
