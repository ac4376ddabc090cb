//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// TestEventsOutliveCrashes kills the daemon again and again while boxes change,
// and reads on each time after the last event that was read. What was read in the
// end is what happened: nothing twice, nothing missing, in its order, and no event
// of a change that a crash took back.
func TestEventsOutliveCrashes(t *testing.T) {
	t.Parallel()
	const changers, crashes, between = 3, 5, 40
	w := newLimitWorld(t, calm)
	stop, reading := make(chan struct{}), make(chan struct{})
	r := &resumer{socket: filepath.Join(w.home, "forkbox.sock"), more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(w.Context())
	go func() { defer close(reading); r.read(ctx) }()
	defer func() { cancel(); <-reading }()

	var work sync.WaitGroup
	all := make([]*changer, changers)
	for i := range all {
		c := &changer{Client: client.New(r.socket), box: w.create(fmt.Sprint("box", i), "").ID}
		all[i] = c
		work.Go(func() { c.change(w.Context(), stop) })
		defer c.Close()
	}
	for n := range crashes {
		for r.heard() < (n+1)*between {
			<-r.more
		}
		w.restart()
	}
	close(stop)
	work.Wait()

	list := w.events("")
	for r.heard() < len(list) {
		<-r.more
	}
	if told := r.told(); !slices.EqualFunc(told, list, func(a, b forkbox.Event) bool { return a.ID == b.ID && a.Kind == b.Kind && a.Box == b.Box }) {
		t.Errorf("%d were read, and these happened: %d\n%v\n%v", len(told), len(list), told, list)
	}
	for _, c := range all {
		var told []forkbox.EventKind
		for _, e := range list {
			if e.Box == c.box && e.Kind != forkbox.EventBoxCreated {
				told = append(told, e.Kind)
			}
		}
		if c.err != nil || !slices.Equal(told, c.done) {
			t.Errorf("%s (%v): %d changes, %d events\n%v\n%v", c.box, c.err, len(c.done), len(told), c.done, told)
		}
	}
}

// changer changes a box that no other changes, so that it knows what happened also
// where the daemon died before it could answer.
type changer struct {
	*client.Client
	box  string
	done []forkbox.EventKind
	err  error
}

func (c *changer) change(ctx context.Context, stop <-chan struct{}) {
	for keep := true; c.err == nil; keep = !keep {
		select {
		case <-stop:
			return
		default:
		}
		if _, err := c.Keep(ctx, c.box, keep); err != nil && !c.happened(ctx, keep) {
			keep = !keep // the same again
			continue
		}
		kind := forkbox.EventBoxUnkept
		if keep {
			kind = forkbox.EventBoxKept
		}
		c.done = append(c.done, kind)
	}
}

// happened asks the next daemon.
func (c *changer) happened(ctx context.Context, keep bool) bool {
	for end := time.Now().Add(worldPatience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if box, err := c.Box(ctx, c.box); err == nil {
			return box.Kept == keep
		} else if forkbox.CodeOf(err) == forkbox.NotFound {
			c.err = err
			return false
		}
	}
	c.err = context.DeadlineExceeded
	return false
}

// resumer reads server-sent events as a browser does: it comes back with the id of
// the last that it has seen.
type resumer struct {
	socket string
	more   chan struct{}

	mu     sync.Mutex
	events []forkbox.Event
}

func (r *resumer) heard() int { return len(r.told()) }

func (r *resumer) told() []forkbox.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events
}

func (r *resumer) read(ctx context.Context) {
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.socket)
	}}}
	for last := ""; ctx.Err() == nil; time.Sleep(time.Millisecond) {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://forkbox/v1/events", nil)
		req.Header.Set("Accept", api.EventStream)
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		resp, err := web.Do(req)
		if err != nil {
			continue // there is no daemon
		}
		last = r.follow(resp, last)
		resp.Body.Close()
	}
}

// follow reads until the daemon is gone. What it sent of an event that is not
// whole does not count.
func (r *resumer) follow(resp *http.Response, last string) string {
	id, data := "", ""
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return last
		}
		if text, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(text)
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			data = text
		}
		if line == "\n" && id != "" {
			var e forkbox.Event
			if json.Unmarshal([]byte(data), &e) != nil || fmt.Sprint(e.ID) != id {
				e.Text = "it is not an event: " + data
			}
			r.add(e)
			last, id, data = id, "", ""
		}
	}
}

func (r *resumer) add(e forkbox.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	select {
	case r.more <- struct{}{}:
	default:
	}
}
