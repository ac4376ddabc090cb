package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/ledger"
)

var (
	ada  = forkbox.Owner{UID: 1000, GID: 1000, Name: "ada", Home: "/home/ada"}
	bob  = forkbox.Owner{UID: 1001, GID: 1001, Name: "bob", Home: "/home/bob"}
	root = forkbox.Owner{Name: "root", Home: "/root"}
)

// world is a host, a real ledger, and the engine that is in charge.
type world struct {
	*Engine
	t      testing.TB
	host   *host
	ledger forkbox.Ledger
	logs   *fakeLogs
	fuse   *fuse
}

func newWorld(t testing.TB, change ...func(*Config)) *world {
	l, err := ledger.Open(context.Background(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, host: newHost(), ledger: l, logs: &fakeLogs{exits: map[string]forkbox.Exit{}}}
	t.Cleanup(func() { w.stopEngine(); l.Close() })
	w.restart(&fuse{}, change...)
	return w
}

// restart puts a new engine in charge.
func (w *world) restart(f *fuse, change ...func(*Config)) {
	w.t.Helper()
	w.stopEngine()
	c := Config{
		Ledger: fusedLedger{w.ledger, f}, Provider: fakeProvider{w.host, f}, Logs: w.logs,
		RestAfter: time.Hour, Secrets: withoutTokens,
	}
	for _, f := range change {
		f(&c)
	}
	w.Engine, w.fuse = New(c), f
	if err := w.Reconcile(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) stopEngine() {
	if w.Engine != nil {
		if err := w.Engine.Close(context.Background()); err != nil {
			w.t.Error(err)
		}
	}
}

func withoutTokens(env, allow []string) (kept, dropped []string) {
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasSuffix(name, "TOKEN") && !strings.Contains(strings.Join(allow, " "), name) {
			dropped = append(dropped, kv)
		} else {
			kept = append(kept, kv)
		}
	}
	return kept, dropped
}

type fakeLogs struct {
	exits  map[string]forkbox.Exit
	create func() error // before each
}

func (l *fakeLogs) Create(string, string) (*os.File, error) {
	if l.create != nil {
		if err := l.create(); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(os.DevNull, os.O_RDWR, 0)
}

func (*fakeLogs) Read(_ context.Context, box, exec string, follow bool, ended func() bool, yield func(forkbox.LogRecord) error) error {
	for follow && !ended() {
		time.Sleep(time.Millisecond)
	}
	return yield(forkbox.LogRecord{Stream: "stdout", Data: []byte(exec)})
}

func (l *fakeLogs) Exit(_, exec string) (forkbox.Exit, forkbox.Output, bool) {
	exit, ok := l.exits[exec]
	return exit, forkbox.Output{}, ok
}

func (w *world) create(name string) forkbox.Box {
	w.t.Helper()
	b, err := w.Create(context.Background(), ada, CreateSpec{Name: name, Env: []string{"A=1", "MY_TOKEN=x"}})
	check(w.t, err)
	return b
}

func (w *world) exec(ref string) forkbox.Exec {
	w.t.Helper()
	x, err := w.Exec(context.Background(), ada, ref, command("sleep"), forkbox.Stdio{})
	check(w.t, err)
	return x
}

func command(argv ...string) ExecRequest {
	return ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: argv}}
}

func (w *world) state(id string) forkbox.State {
	w.t.Helper()
	b, err := w.ledger.Box(context.Background(), id)
	check(w.t, err)
	return b.State
}

func (w *world) wait(x forkbox.Exec) forkbox.Exit {
	w.t.Helper()
	x, err := w.Wait(context.Background(), ada, x.Box, x.ID)
	check(w.t, err)
	return *x.Exit
}

// eventually waits for what another goroutine is about to do.
func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("never: %s", what)
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code forkbox.Code) {
	t.Helper()
	var e *forkbox.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got error %v, want one with code %s", err, code)
	}
}
