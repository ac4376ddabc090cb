package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// mayExec of the world fails each of these tests where something is run before
// the gate is open.
func TestGateIsOpenWhileTheBoxRuns(t *testing.T) {
	w := newNetWorld(t)
	b := w.make(CreateSpec{Name: "one"})
	if w.nets.gate(b.ID) != nil {
		t.Error("a box at rest has a gate")
	}
	w.exec("one")
	gate := w.nets.gate(b.ID)
	if gate == nil || gate.holds().Name != "one" || gate.at == nil {
		t.Fatalf("the gate is %+v", gate)
	}
	w.exec("one")
	if w.nets.gate(b.ID) != gate {
		t.Error("it was opened again")
	}
	_, err := w.Stop(t.Context(), ada, "one", nil)
	check(t, err)
	if w.nets.gate(b.ID) != nil {
		t.Error("it is open with the box at rest")
	}
	w.exec("one")
	w.host.instance(b.ID).die(false)
	w.eventually("the gate of a box that died is closed", func() bool { return w.nets.gate(b.ID) == nil })
	w.exec("one")
	check(t, w.Remove(t.Context(), ada, "one", true))
	if w.nets.gate(b.ID) != nil || len(w.nets.prepared) != 0 {
		t.Errorf("something is left: %v", w.nets.prepared)
	}
}

// Promise 5: without its gate a box is not started at all.
func TestPromise5GateThatCannotBeOpened(t *testing.T) {
	w := newNetWorld(t)
	b := w.make(CreateSpec{Name: "one"})
	w.nets.fail("open", errors.New("no more memory"))
	for range 2 {
		_, err := w.Exec(t.Context(), ada, "one", command("true"), forkbox.Stdio{})
		wantCode(t, err, forkbox.Internal)
		_, err = w.Start(t.Context(), ada, "one")
		wantCode(t, err, forkbox.Internal)
		if got := w.box("one"); got.State != forkbox.Stopped || !strings.Contains(got.Note, "no more memory") {
			t.Errorf("got %+v", got)
		}
		check(t, w.disagreement())
	}
	w.nets.fail("open", nil)
	w.host.fail("watch", errors.New("no answer"))
	_, err := w.Start(t.Context(), ada, "one")
	wantCode(t, err, forkbox.Internal)
	if w.nets.gate(b.ID) != nil {
		t.Error("the gate of a box that could not be started is open")
	}
	w.host.fail("watch", nil)
	w.exec("one")
	check(t, w.disagreement())
}

func TestGateNeedsAnInstanceWithANetwork(t *testing.T) {
	w := newNetWorld(t)
	w.make(CreateSpec{Name: "one"})
	w.make(CreateSpec{Name: "two", Net: "none"})
	w.host.plain = true
	_, err := w.Start(t.Context(), ada, "one")
	wantCode(t, err, forkbox.Unsupported)
	_, err = w.Start(t.Context(), ada, "two")
	check(t, err)
	wantCode(t, w.WaitPort(t.Context(), ada, "two", 80, 0), forkbox.Unsupported)
	_, err = w.Publish(t.Context(), ada, "two", forkbox.Port{Box: 80})
	wantCode(t, err, forkbox.Unsupported)
	if ports, err := w.PortsOf(t.Context(), ada, "two"); err != nil || len(ports) != 0 {
		t.Errorf("recorded %v, %v", ports, err)
	}
}

func TestRestartOpensGatesAgain(t *testing.T) {
	w := newNetWorld(t)
	b := w.make(CreateSpec{Name: "one"})
	w.exec("one")
	check(t, w.Close(t.Context()))
	if w.nets.gate(b.ID) != nil {
		t.Error("an engine that ended left a gate open")
	}
	w.again(&fuse{})
	if w.nets.gate(b.ID) == nil || w.nets.opened != 2 {
		t.Errorf("it was opened %d times", w.nets.opened)
	}
	w.exec("one")
}

// A box that is found and whose gate cannot be opened is not killed: nothing
// gets out of it, its owner is told, and it can be stopped.
func TestRestartWithAGateThatCannotBeOpened(t *testing.T) {
	w := newNetWorld(t)
	b := w.make(CreateSpec{Name: "one"})
	x := w.exec("one")
	w.make(CreateSpec{Name: "two"})
	w.exec("two")
	w.nets.fail("open", errors.New("no more memory"))
	w.again(&fuse{})
	if got := w.box("one"); got.State != forkbox.Running || !strings.Contains(got.Note, "nothing gets out of it") {
		t.Errorf("got %+v", got)
	}
	_, err := w.Exec(t.Context(), ada, "one", command("true"), forkbox.Stdio{})
	wantCode(t, err, forkbox.Internal)
	w.host.instance(b.ID).exit(x.ID, forkbox.Exit{Code: 3, Cause: forkbox.CauseExited})
	if exit := w.wait(x); exit.Code != 3 {
		t.Errorf("nobody watches it: %+v", exit)
	}
	_, err = w.Stop(t.Context(), ada, "two", nil)
	check(t, err)
	w.nets.fail("open", nil)
	w.exec("one")
	if got := w.box("one"); got.Note != "" || w.nets.gate(b.ID) == nil {
		t.Errorf("got %+v", got)
	}
	check(t, w.disagreement())
}

func TestPrepareThatFailsLeavesNothing(t *testing.T) {
	w := newNetWorld(t)
	w.nets.fail("prepare", errors.New("disk full"))
	_, err := w.Create(t.Context(), ada, CreateSpec{Name: "one"})
	wantCode(t, err, forkbox.Internal)
	check(t, w.disagreement())
	if boxes, _ := w.Boxes(t.Context(), ada); len(boxes) != 0 {
		t.Errorf("left %v", boxes)
	}
	w.nets.fail("prepare", nil)
	w.make(CreateSpec{Name: "one"})
	w.nets.fail("remove", errors.New("disk broken"))
	wantCode(t, w.Remove(t.Context(), ada, "one", false), forkbox.Internal)
	w.nets.fail("remove", nil)
	check(t, w.Remove(t.Context(), ada, "one", false)) // it is still known
	check(t, w.disagreement())
}

func TestExecHasWhatTheNetworkNeeds(t *testing.T) {
	w := newNetWorld(t)
	b := w.make(CreateSpec{Name: "one", Env: []string{"KEY=mine", "A=1"}, NetWish: forkbox.NetWish{Secrets: []string{"KEY", "API_TOKEN"}}})
	req := command("true")
	req.Env, req.ExtraEnv = []string{"A=2", "API_TOKEN=real"}, []string{"SSL_CERT_FILE=/mine"}
	_, err := w.Exec(t.Context(), ada, "one", req, forkbox.Stdio{})
	check(t, err)
	want := []string{"A=2", "API_TOKEN=" + b.Network.Secrets["API_TOKEN"], "KEY=" + b.Network.Secrets["KEY"], "SSL_CERT_FILE=/mine"}
	got := slices.Sorted(slices.Values(w.host.last.Env))
	if !slices.Equal(got, want) || b.Network.Secrets["KEY"] == "" {
		t.Errorf("got %v", got)
	}
	w.make(CreateSpec{Name: "two", Net: "none", Env: []string{"A=1"}})
	w.exec("two")
	if !slices.Equal(w.host.last.Env, []string{"A=1"}) {
		t.Errorf("got %v", w.host.last.Env)
	}
}

func TestMates(t *testing.T) {
	w := newNetWorld(t)
	a := w.make(CreateSpec{Name: "a", Net: "team:blue"})
	b := w.make(CreateSpec{Name: "b", Net: "team:blue"})
	c := w.make(CreateSpec{Name: "c", Net: "team:red"})
	w.make(CreateSpec{Name: "alone"})
	_, err := w.Create(t.Context(), bob, CreateSpec{Name: "his", Net: "team:blue"})
	check(t, err)
	for _, name := range []string{"a", "b", "c", "alone"} {
		w.exec(name)
	}
	_, err = w.Exec(t.Context(), bob, "his", command("true"), forkbox.Stdio{})
	check(t, err)
	mates := func(id string) func(string) (string, bool) { return w.nets.gate(id).hears.Mates }
	if id, ok := mates(a.ID)("b"); !ok || id != b.ID {
		t.Errorf("got %q %v", id, ok)
	}
	for _, name := range []string{"a", "c", "alone", "his", "", "nobody"} { // itself is no mate
		if id, ok := mates(a.ID)(name); ok {
			t.Errorf("%s is %s", name, id)
		}
	}
	if _, ok := mates(c.ID)("b"); ok {
		t.Error("a mate of another team")
	}
	if _, ok := mates(w.box("alone").ID)("alone"); ok {
		t.Error("a mate without a team")
	}
	_, err = w.Stop(t.Context(), ada, "b", nil)
	check(t, err)
	if _, ok := mates(a.ID)("b"); ok {
		t.Error("a mate at rest")
	}
}
