package engine

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

func TestExecWakesTheBoxAndEnds(t *testing.T) {
	w := newWorld(t)
	b := w.create("one")
	x := w.exec("one")
	if x.ID != "1" || x.Dir != ada.Home || w.state(b.ID) != forkbox.Running {
		t.Fatalf("got %+v in a box that is %s", x, w.state(b.ID))
	}
	go w.host.instance(b.ID).exit("1", forkbox.Exit{Code: 3, Cause: forkbox.CauseExited})
	if exit := w.wait(x); exit.Code != 3 || exit.Cause != forkbox.CauseExited {
		t.Errorf("it ended with %+v", exit)
	}
	got, err := w.GetExec(t.Context(), ada, "one", "")
	if err != nil || got.Exit.Code != 3 || got.Output.Kept != 1 || got.Ended == nil {
		t.Errorf("recorded as %+v, %v", got, err)
	}
	err = w.Signal(t.Context(), ada, "one", "1", 15)
	wantCode(t, err, forkbox.Busy)
	check(t, w.Kill(t.Context(), ada, "one", "1", 0))
	_, err = w.Wait(t.Context(), ada, "one", "2")
	wantCode(t, err, forkbox.NotFound)
}

func TestExecThatCannotStartIsRecorded(t *testing.T) {
	w := newWorld(t)
	w.create("one")
	in, out, err := os.Pipe()
	check(t, err)
	defer out.Close()
	x, err := w.Exec(t.Context(), ada, "one", command("nonsense"), forkbox.Stdio{In: in})
	wantCode(t, err, forkbox.CommandNotFound)
	if x.Exit == nil || x.Exit.Code != 127 || x.Exit.Cause != forkbox.CauseNotRun || x.Exit.Why == "" {
		t.Errorf("got %+v", x.Exit)
	}
	if exit := w.wait(x); exit != *x.Exit {
		t.Errorf("recorded as %+v", exit)
	}
	if in.Close() == nil {
		t.Error("stdio was left open")
	}
}

// The owner may remove a box at any moment. A caller who was about to run
// something in it hears that, and not which file was not there any more.
func TestExecInABoxThatIsBeingRemoved(t *testing.T) {
	w := newWorld(t)
	w.create("one")
	w.logs.create = func() error {
		w.logs.create = nil
		check(t, w.Remove(context.Background(), ada, "one", true))
		return os.ErrNotExist
	}
	_, err := w.Exec(t.Context(), ada, "one", command("sleep"), forkbox.Stdio{})
	wantCode(t, err, forkbox.Busy)
	w.create("two")
	w.logs.create = func() error { return os.ErrPermission }
	_, err = w.Exec(t.Context(), ada, "two", command("sleep"), forkbox.Stdio{})
	wantCode(t, err, forkbox.Internal) // that one is still there
}

func TestExecRefuses(t *testing.T) {
	w := newWorld(t)
	b := w.create("one")
	for _, c := range []struct {
		who  forkbox.Owner
		req  ExecRequest
		code forkbox.Code
	}{
		{ada, command(), forkbox.Invalid},
		{ada, ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"a"}, Dir: "b"}}, forkbox.Invalid},
		{ada, ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"a"}, Timeout: -1}}, forkbox.Invalid},
		{ada, ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"a"}}, ExtraEnv: []string{"b"}}, forkbox.Invalid},
		{ada, as("root"), forkbox.Denied},
		{ada, as("0"), forkbox.Denied},
		{bob, command("a"), forkbox.NotFound},
	} {
		in, out, err := os.Pipe()
		check(t, err)
		_, err = w.Exec(t.Context(), c.who, "one", c.req, forkbox.Stdio{In: in})
		wantCode(t, err, c.code)
		if in.Close() == nil {
			t.Error("stdio was left open")
		}
		out.Close()
	}
	if w.state(b.ID) != forkbox.Stopped {
		t.Error("a refused exec woke the box")
	}
}

func as(user string) ExecRequest {
	return ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"id"}, User: user}}
}

func TestExecAs(t *testing.T) {
	w := newWorld(t)
	w.create("one")
	_, err := w.Create(t.Context(), root, CreateSpec{Name: "one"})
	check(t, err)
	for _, c := range []struct {
		who        forkbox.Owner
		user, want string
	}{
		{ada, "ada", ""}, // not looked up in the box, where it could mean any user
		{ada, "1000", ""},
		{ada, "", ""},
		{root, "ada", "ada"},
	} {
		_, err := w.Exec(t.Context(), c.who, "one", as(c.user), forkbox.Stdio{})
		check(t, err)
		if w.host.last.User != c.want {
			t.Errorf("%s as %q runs as %q", c.who.Name, c.user, w.host.last.User)
		}
	}
}

func TestExecEnvironment(t *testing.T) {
	w := newWorld(t)
	_, err := w.Create(t.Context(), ada, CreateSpec{Name: "one",
		Env: []string{"A=box", "B=box", "X_TOKEN=x", "Y_TOKEN=y"}, AllowSecrets: []string{"Y_TOKEN"}})
	check(t, err)
	for _, c := range []struct{ env, extra, want []string }{
		{nil, nil, []string{"A=box", "B=box", "Y_TOKEN=y"}},
		{nil, []string{"A=mine", "X_TOKEN=mine"}, []string{"B=box", "Y_TOKEN=y", "A=mine", "X_TOKEN=mine"}},
		{[]string{"C=now", "X_TOKEN=x", "Y_TOKEN=z"}, nil, []string{"C=now", "Y_TOKEN=z"}},
		{[]string{}, nil, []string{}},
	} {
		req := command("env")
		req.Env, req.ExtraEnv = c.env, c.extra
		_, err := w.Exec(t.Context(), ada, "one", req, forkbox.Stdio{})
		check(t, err)
		if !slices.Equal(w.host.last.Env, c.want) {
			t.Errorf("env %v and extra %v give %v", c.env, c.extra, w.host.last.Env)
		}
	}
}

func TestKilledAndStoppedExecsSayWhoDidIt(t *testing.T) {
	w := newWorld(t)
	w.create("one")
	signalled, killed, stopped := w.exec("one"), w.exec("one"), w.exec("one")
	check(t, w.Signal(t.Context(), ada, "one", signalled.ID, 15))
	check(t, w.Kill(t.Context(), ada, "one", killed.ID, 0))
	_, err := w.Stop(t.Context(), ada, "one", nil)
	check(t, err)
	for x, want := range map[*forkbox.Exec]forkbox.Cause{
		&signalled: forkbox.CauseSignalled, &killed: forkbox.CauseStopped, &stopped: forkbox.CauseStopped,
	} {
		if exit := w.wait(*x); exit.Cause != want {
			t.Errorf("exec %s: %+v, want %s", x.ID, exit, want)
		}
	}
}

func TestLogsFollowUntilTheEnd(t *testing.T) {
	w := newWorld(t)
	b := w.create("one")
	w.exec("one")
	go w.host.instance(b.ID).exit("1", forkbox.Exit{Cause: forkbox.CauseExited})
	var got string
	check(t, w.Logs(t.Context(), ada, "one", "", true, func(r forkbox.LogRecord) error { got += string(r.Data); return nil }))
	if got != "1" {
		t.Errorf("read %q", got)
	}
}

func TestWaitEndsWithItsCallerAndWithTheEngine(t *testing.T) {
	w := newWorld(t)
	w.create("one")
	w.exec("one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.Wait(ctx, ada, "one", "1")
	wantCode(t, err, forkbox.TimedOut)
	errs := make(chan error)
	go func() { _, err := w.Wait(t.Context(), ada, "one", "1"); errs <- err }()
	w.Close(t.Context())
	wantCode(t, <-errs, forkbox.Unavailable)
}

// A hint is to be typed as it stands.
func TestHintsNameTheBox(t *testing.T) {
	w := newWorld(t)
	w.create("one")
	_, err := w.Exec(t.Context(), ada, "one", ExecRequest{}, forkbox.Stdio{})
	wantCode(t, err, forkbox.Invalid)
	var e *forkbox.Error
	if errors.As(err, &e); !slices.Contains(e.Hints, "put it after two dashes: forkbox exec one -- COMMAND") {
		t.Errorf("hints are %q", e.Hints)
	}
	err = core.NameBox(forkbox.Errorf(forkbox.Unavailable, "connect", "no").Hint("forkbox wait BOX --port 80"), "one")
	if errors.As(err, &e); !slices.Equal(e.Hints, []string{"forkbox wait one --port 80"}) {
		t.Errorf("hints are %q", e.Hints)
	}
	any := "free some: forkbox gc, or forkbox rm BOX"
	err = core.NameBox(forkbox.Errorf(forkbox.Denied, "apply", "no").Hint("leave it out: forkbox apply BOX PATH…").Hint("%s", any), "one")
	if errors.As(err, &e); !slices.Equal(e.Hints, []string{"leave it out: forkbox apply one PATH…", any}) {
		t.Errorf("hints are %q", e.Hints)
	}
}
