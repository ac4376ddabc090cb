package server

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func command(argv ...string) api.ExecRequest {
	return api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: argv}}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 6000 { // a minute: it only takes so long when a test fails
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("never: " + what)
}

func TestExecHasTheCallersFiles(t *testing.T) {
	r := start(t)
	inR, inW := pipe(t)
	outR, outW := pipe(t)
	session, err := r.client.Exec(t.Context(), "b1", command("cat"), forkbox.Stdio{In: inR, Out: outW})
	if err != nil {
		t.Fatal(err)
	}
	inR.Close()
	outW.Close()
	if err := session.Signal(t.Context(), 2); err != nil {
		t.Error(err)
	}
	if err := session.Resize(t.Context(), forkbox.Size{Rows: 3, Cols: 4}); err != nil {
		t.Error(err)
	}
	eventually(t, "signal and resize arrive", func() bool {
		r.engine.mu.Lock()
		defer r.engine.mu.Unlock()
		return len(r.engine.signals) == 1 && r.engine.signals[0] == 2 && len(r.engine.sizes) == 1 && r.engine.sizes[0].Cols == 4
	})
	inW.WriteString("through the box")
	inW.Close()
	text, _ := io.ReadAll(outR)
	exec, err := session.Wait(t.Context())
	if string(text) != "through the box" || err != nil || exec.Exit == nil || exec.Exit.Code != 7 {
		t.Errorf("%q %+v %v", text, exec, err)
	}
}

func TestExecThatCannotStart(t *testing.T) {
	r := start(t)
	_, err := r.client.Exec(t.Context(), "b1", command("missing"), forkbox.Stdio{})
	if forkbox.CodeOf(err) != forkbox.CommandNotFound {
		t.Errorf("%v", err)
	}
	if _, err := r.client.Exec(t.Context(), "b1", command(), forkbox.Stdio{}); forkbox.CodeOf(err) != forkbox.Invalid {
		t.Errorf("no command: %v", err)
	}
}

func TestDisconnectKills(t *testing.T) {
	r := start(t)
	req := command("sleep")
	req.OnDisconnect = api.KillOnDisconnect
	session, err := r.client.Exec(t.Context(), "b1", req, forkbox.Stdio{})
	if err != nil {
		t.Fatal(err)
	}
	session.Close()
	select {
	case <-r.engine.killed:
	case <-time.After(5 * time.Second):
		t.Error("the exec goes on")
	}
}

func TestDisconnectKeeps(t *testing.T) {
	r := start(t)
	req := command("sleep")
	req.OnDisconnect = api.KeepOnDisconnect
	session, err := r.client.Exec(t.Context(), "b1", req, forkbox.Stdio{})
	if err != nil {
		t.Fatal(err)
	}
	session.Close()
	r.idle.wait(t.Context()) // the server has noticed
	select {
	case <-r.engine.killed:
		t.Error("killed")
	case <-time.After(50 * time.Millisecond):
	}
}

func TestWaiterThatLeavesKills(t *testing.T) {
	r := start(t)
	if _, err := r.client.ExecDetached(t.Context(), "b1", command("sleep")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r.client.WaitExec(ctx, "b1", "1", api.KillOnDisconnect)
	select {
	case <-r.engine.killed:
	case <-time.After(5 * time.Second):
		t.Error("the exec goes on")
	}
}

// A daemon that stops lets go of its execs; it does not kill them.
func TestStoppingKeepsExecs(t *testing.T) {
	r := start(t)
	req := command("sleep")
	req.OnDisconnect = api.KillOnDisconnect
	session, err := r.client.Exec(t.Context(), "b1", req, forkbox.Stdio{})
	if err != nil {
		t.Fatal(err)
	}
	r.cancel()
	err = <-r.ended
	r.ended <- err
	if err != nil {
		t.Error(err)
	}
	select {
	case <-r.engine.killed:
		t.Error("killed")
	default:
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if exec, err := session.Wait(ctx); err == nil {
		t.Errorf("waited for %+v", exec)
	}
}

func TestDetachedExecReadsItsStdin(t *testing.T) {
	r := start(t)
	req := command("cat")
	req.Stdin = []byte("hello")
	req.ExtraEnv = []string{"K=V"}
	exec, err := r.client.ExecDetached(t.Context(), "b1", req)
	if err != nil || exec.ID != "1" || r.engine.execs[0].ExtraEnv[0] != "K=V" {
		t.Fatalf("%+v %v", exec, err)
	}
	done, err := r.client.WaitExec(t.Context(), "b1", "1", "")
	if err != nil || done.Exit.Code != 7 {
		t.Errorf("%+v %v", done, err)
	}
}
