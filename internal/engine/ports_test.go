package engine

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/network"
)

func (w *netWorld) publish(ref string, p forkbox.Port) forkbox.Port {
	w.t.Helper()
	got, err := w.Publish(context.Background(), ada, ref, p)
	check(w.t, err)
	return got
}

func (w *netWorld) portsOf(ref string) []forkbox.Port {
	w.t.Helper()
	ports, err := w.PortsOf(context.Background(), ada, ref)
	check(w.t, err)
	return ports
}

func TestPublishedPortsComeAndGoWithTheBox(t *testing.T) {
	w := newNetWorld(t)
	b := w.make(CreateSpec{Name: "one", Net: "none"})
	if got := w.publish("one", forkbox.Port{Box: 3000}); got != (forkbox.Port{Box: 3000}) || len(w.ports.of(b.ID)) != 0 {
		t.Errorf("a box at rest publishes %v", got)
	}
	w.exec("one")
	want := []forkbox.Port{{Box: 3000, Host: 40_000}}
	if !slices.Equal(w.ports.of(b.ID), want) || !slices.Equal(w.portsOf("one"), want) {
		t.Errorf("published %v, recorded %v", w.ports.of(b.ID), w.portsOf("one"))
	}
	for _, p := range []forkbox.Port{{Box: 3000}, want[0]} { // again is what there is
		if got := w.publish("one", p); got != want[0] {
			t.Errorf("got %v", got)
		}
	}
	w.publish("one", forkbox.Port{Box: 5000, Host: 8080})
	w.publish("one", forkbox.Port{Box: 3000, Host: 8081})
	want = append(want, forkbox.Port{Box: 5000, Host: 8080}, forkbox.Port{Box: 3000, Host: 8081})
	m := w.host.instance(b.ID)
	m.listen(3000)
	conn, err := w.ports.dial(t.Context(), 3000)
	check(t, err)
	conn.Close()

	_, err = w.Stop(t.Context(), ada, "one", nil)
	check(t, err)
	if len(w.ports.of(b.ID)) != 0 || !slices.Equal(w.portsOf("one"), want) {
		t.Errorf("published %v, recorded %v", w.ports.of(b.ID), w.portsOf("one"))
	}
	w.exec("one")
	if !slices.Equal(w.ports.of(b.ID), want) {
		t.Errorf("published %v", w.ports.of(b.ID))
	}
	w.again(&fuse{}) // the daemon is another one
	if !slices.Equal(w.ports.of(b.ID), want) {
		t.Errorf("published %v", w.ports.of(b.ID))
	}
	check(t, w.Unpublish(t.Context(), ada, "one", forkbox.Port{Box: 5000, Host: 8080}))
	check(t, w.Unpublish(t.Context(), ada, "one", forkbox.Port{Box: 3000})) // both
	if len(w.ports.of(b.ID)) != 0 || len(w.portsOf("one")) != 0 {
		t.Errorf("published %v, recorded %v", w.ports.of(b.ID), w.portsOf("one"))
	}
	wantCode(t, w.Unpublish(t.Context(), ada, "one", forkbox.Port{Box: 3000}), forkbox.NotFound)
	w.publish("one", forkbox.Port{Box: 3000})
	check(t, w.Remove(t.Context(), ada, "one", true))
	if len(w.ports.of(b.ID)) != 0 {
		t.Error("it is published after its end")
	}
}

func TestTakenPort(t *testing.T) {
	w := newNetWorld(t)
	b := w.make(CreateSpec{Name: "one"})
	w.exec("one")
	w.ports.take(8080, true)
	_, err := w.Publish(t.Context(), ada, "one", forkbox.Port{Box: 3000, Host: 8080})
	wantCode(t, err, forkbox.Exists)
	if len(w.portsOf("one")) != 0 {
		t.Errorf("recorded %v", w.portsOf("one"))
	}
	_, err = w.Stop(t.Context(), ada, "one", nil)
	check(t, err)
	w.publish("one", forkbox.Port{Box: 3000, Host: 8080})
	w.publish("one", forkbox.Port{Box: 5000})
	w.exec("one") // is no reason not to run
	got := w.box("one")
	if !strings.Contains(got.Note, "port 8080 is taken") || len(w.ports.of(b.ID)) != 1 || len(got.Network.Ports) != 2 {
		t.Errorf("got %+v", got)
	}
	told := 0
	check(t, w.Events(t.Context(), ada, EventSpec{Box: "one"}, func(e forkbox.Event) error {
		if e.Kind == forkbox.EventNetwork {
			told++
		}
		return nil
	}))
	if told != 1 {
		t.Errorf("it was told %d times", told)
	}
	w.ports.take(8080, false)
	w.publish("one", forkbox.Port{Box: 3000, Host: 8080}) // now it is
	if len(w.ports.of(b.ID)) != 2 || len(w.portsOf("one")) != 2 {
		t.Errorf("published %v, recorded %v", w.ports.of(b.ID), w.portsOf("one"))
	}
}

func TestPublishRefuses(t *testing.T) {
	w := newNetWorld(t)
	w.make(CreateSpec{Name: "one"})
	w.make(CreateSpec{Name: "two", Net: "host"})
	for _, c := range []struct {
		ref  string
		port forkbox.Port
		code forkbox.Code
	}{
		{"one", forkbox.Port{}, forkbox.Invalid},
		{"one", forkbox.Port{Box: 65536}, forkbox.Invalid},
		{"one", forkbox.Port{Box: 80, Host: -1}, forkbox.Invalid},
		{"one", forkbox.Port{Box: 80, Host: 65536}, forkbox.Invalid},
		{"one", forkbox.Port{Box: 80, Host: 80}, forkbox.Denied},
		{"two", forkbox.Port{Box: 80}, forkbox.Invalid},
		{"three", forkbox.Port{Box: 80}, forkbox.NotFound},
	} {
		_, err := w.Publish(t.Context(), ada, c.ref, c.port)
		wantCode(t, err, c.code)
	}
	_, err := w.Create(t.Context(), root, CreateSpec{Name: "roots"})
	check(t, err)
	_, err = w.Publish(t.Context(), root, "roots", forkbox.Port{Box: 80, Host: 80})
	check(t, err)
	for i := range network.MaxPorts {
		w.publish("one", forkbox.Port{Box: 1 + i})
	}
	_, err = w.Publish(t.Context(), ada, "one", forkbox.Port{Box: 1000})
	wantCode(t, err, forkbox.Invalid)
	wantCode(t, w.Unpublish(t.Context(), ada, "one", forkbox.Port{}), forkbox.Invalid)
}

func TestWaitPort(t *testing.T) {
	w := newNetWorld(t)
	b := w.make(CreateSpec{Name: "one"})
	wantCode(t, w.WaitPort(t.Context(), ada, "one", 3000, 0), forkbox.Busy)
	_, err := w.URL(t.Context(), ada, "one", 3000)
	wantCode(t, err, forkbox.Busy)
	if w.state(b.ID) != forkbox.Stopped {
		t.Error("it was started")
	}
	w.exec("one")
	wantCode(t, w.WaitPort(t.Context(), ada, "one", 0, 0), forkbox.Invalid)
	wantCode(t, w.WaitPort(t.Context(), ada, "one", 3000, -1), forkbox.Invalid)
	wantCode(t, w.WaitPort(t.Context(), bob, "one", 3000, 0), forkbox.NotFound)
	err = w.WaitPort(t.Context(), ada, "one", 3000, time.Millisecond)
	wantCode(t, err, forkbox.TimedOut)
	if !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v does not say what was last seen", err)
	}
	url, err := w.URL(t.Context(), ada, "one", 3000)
	if err != nil || url != "http://one.localhost" {
		t.Errorf("got %q, %v", url, err)
	}
	done := make(chan error)
	go func() { done <- w.WaitPort(t.Context(), ada, "one", 3000, time.Minute) }()
	w.host.instance(b.ID).listen(3000)
	check(t, <-done)
	go func() { done <- w.WaitPort(t.Context(), ada, "one", 4000, time.Minute) }()
	_, err = w.Stop(t.Context(), ada, "one", nil)
	check(t, err)
	wantCode(t, <-done, forkbox.Busy)
}
