//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/rogpeppe/go-internal/testscript"
)

// conformer runs commands over one transport.
type conformer struct {
	*limitWorld
	name string
	// run runs a command to its end. With merged stdout and stderr are one.
	run func(c *conformer, req api.ExecRequest, stdin []byte, merged bool) ran
	// client is nil where a command cannot be spoken to while it runs.
	client *client.Client
}

// ran is a command that has ended.
type ran struct {
	out, err []byte
	exec     forkbox.Exec
	fault    error
}

// conformers are all transports, in one world.
func conformers(w *limitWorld) []*conformer {
	socket := client.New(filepath.Join(w.home, "forkbox.sock"))
	socket.WebSocket = true
	w.Cleanup(socket.Close)
	tls := newRemoteClient(w)
	return []*conformer{
		{limitWorld: w, name: "descriptors", run: runSession, client: w.Client},
		{limitWorld: w, name: "websocket", run: runSession, client: socket},
		{limitWorld: w, name: "tls", run: runSession, client: tls},
		{limitWorld: w, name: "post", run: runPost},
	}
}

// newRemoteClient reaches the world's daemon from outside, which has to listen
// for that first.
func newRemoteClient(w *limitWorld) *client.Client {
	w.Helper()
	made, err := w.CreateToken(w.Context(), api.TokenRequest{Scopes: []string{"read", "exec"}})
	w.ok(err)
	listeners, err := w.Listeners(w.Context())
	w.ok(err)
	if len(listeners) != 1 {
		w.Fatalf("it listens at %v", listeners)
	}
	c, err := client.NewRemote(client.Remote{URL: listeners[0].URL, Token: made.Token, Pin: listeners[0].Fingerprint})
	w.ok(err)
	w.Cleanup(c.Close)
	return c
}

// listenOutside has the daemon of a world listen beyond its socket.
func listenOutside(_ *testing.T, daemon *exec.Cmd) error {
	daemon.Args = append(daemon.Args, "--listen", "127.0.0.1:0")
	return daemon.Start()
}

func shell(script string, args ...string) api.ExecRequest {
	return api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: append([]string{"sh", "-c", script, "sh"}, args...)}}
}

// speak starts a command whose stdin and output the test holds.
func (c *conformer) speak(req api.ExecRequest) *talk {
	c.Helper()
	inside, in, err := os.Pipe()
	c.ok(err)
	out, outside, err := os.Pipe()
	c.ok(err)
	s, err := c.client.Exec(c.Context(), "b", req, forkbox.Stdio{In: inside, Out: outside, Err: outside})
	inside.Close()
	outside.Close()
	c.Cleanup(func() { in.Close(); out.Close() })
	c.ok(err)
	return &talk{task: newTask(c.limitWorld, s, in, out)}
}

type talk struct{ *task }

// runSession runs a command with pipes of its own.
func runSession(c *conformer, req api.ExecRequest, stdin []byte, merged bool) (r ran) {
	c.Helper()
	inside, in, err := os.Pipe()
	c.ok(err)
	out, outside, err := os.Pipe()
	c.ok(err)
	errs, errside, err := os.Pipe()
	c.ok(err)
	stdio := forkbox.Stdio{In: inside, Out: outside, Err: errside}
	if merged {
		stdio.Err = outside
	}
	if stdin == nil {
		stdio.In = nil
	}
	s, err := c.client.Exec(c.Context(), "b", req, stdio)
	for _, f := range []*os.File{inside, outside, errside} {
		f.Close()
	}
	defer in.Close()
	if err != nil {
		out.Close()
		errs.Close()
		return ran{fault: err}
	}
	var all sync.WaitGroup
	all.Go(func() { in.Write(stdin); in.Close() })
	all.Go(func() { r.out, _ = io.ReadAll(out); out.Close() })
	all.Go(func() { r.err, _ = io.ReadAll(errs); errs.Close() })
	r.exec, r.fault = s.Wait(c.Context())
	s.Close()
	all.Wait()
	return r
}

// runPost runs a command as curl would.
func runPost(c *conformer, req api.ExecRequest, stdin []byte, merged bool) (r ran) {
	c.Helper()
	req.Stdin = stdin
	body, err := json.Marshal(req)
	c.ok(err)
	form := "lines"
	if merged {
		form = "merged"
	}
	web := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(c.home, "forkbox.sock"))
	}}}
	defer web.CloseIdleConnections()
	resp, err := web.Post("http://forkbox/v1/boxes/b/execs?stream="+form, "application/json", bytes.NewReader(body))
	c.ok(err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		var fault api.ErrorBody
		c.ok(json.NewDecoder(resp.Body).Decode(&fault))
		return ran{fault: fault.Error}
	}
	if merged {
		r.out, err = io.ReadAll(resp.Body)
		c.ok(err)
		r.exec.Exit = &forkbox.Exit{}
		_, err = fmt.Sscan(resp.Trailer.Get(api.ExitTrailer), &r.exec.Exit.Code)
		c.ok(err)
		return r
	}
	for dec := json.NewDecoder(resp.Body); ; {
		var line api.OutputLine
		if err := dec.Decode(&line); errors.Is(err, io.EOF) {
			return r
		} else if err != nil {
			return ran{fault: err}
		}
		r.take(line)
	}
}

func (r *ran) take(line api.OutputLine) {
	data := line.Data
	if line.Text != nil {
		data = []byte(*line.Text)
	}
	switch {
	case line.Exit != nil:
		r.exec = *line.Exit
	case line.Error != nil:
		r.fault = line.Error
	case line.Stream == "stdout":
		r.out = append(r.out, data...)
	case line.Stream == "stderr":
		r.err = append(r.err, data...)
	}
}

// TestExecConforms: a command behaves the same whatever way its caller came.
func TestExecConforms(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.start = listenOutside
	w.restart()
	w.create("b", "")
	stdin := bytes.Repeat([]byte("0123456789abcdef"), 200_000) // 3 MB and some
	for _, c := range conformers(w) {
		t.Run(c.name, func(t *testing.T) {
			c.limitWorld = w.as(t)
			for _, row := range []struct {
				name, script string
				stdin        []byte
				merged       bool
				out, err     string
				code         int
			}{
				{name: "nothing", script: "true"},
				{name: "exit code", script: "exit 3", code: 3},
				{name: "killed", script: "kill -9 $$", code: 137},
				{name: "terminated", script: "kill $$", code: 143},
				{name: "output", script: "echo out; echo err >&2", out: "out\n", err: "err\n"},
				{name: "merged", script: "echo 1; echo 2 >&2; echo 3", merged: true, out: "1\n2\n3\n"},
				{name: "no stdin", script: "wc -c", out: "0\n"},
				{name: "stdin", script: "cat; exit 5", stdin: []byte("hello"), out: "hello", code: 5},
				{name: "much stdin", script: "md5sum; exit 1", stdin: stdin, out: fmt.Sprintf("%s  -\n", md5Of(stdin)), code: 1},
				{name: "there and back", script: "cat", stdin: stdin, out: string(stdin)},
				{name: "stdin that is not read", script: "echo no; exit 2", stdin: stdin, out: "no\n", code: 2},
				{name: "closed stdin", script: "exec <&-; echo still", stdin: stdin[:100], out: "still\n"},
				{name: "closed output", script: "exec >&-; echo err >&2; exit 4", err: "err\n", code: 4},
				{name: "bytes", script: `printf '\000\377\n'`, out: "\x00\xff\n"},
				{name: "left behind", script: "sleep 1000 >/dev/null 2>&1 & echo gone", out: "gone\n"},
			} {
				t.Run(row.name, func(t *testing.T) {
					c.limitWorld = w.as(t)
					r := c.run(c, shell(row.script), row.stdin, row.merged)
					if r.fault != nil || r.exec.Exit == nil || r.exec.Exit.Code != row.code {
						t.Fatalf("%+v %v %v", r.exec, r.exec.Exit, r.fault)
					}
					if string(r.out) != row.out || string(r.err) != row.err {
						t.Errorf("it wrote %d bytes %.80q and %.80q", len(r.out), r.out, r.err)
					}
				})
			}
			t.Run("not found", func(t *testing.T) {
				c.limitWorld = w.as(t)
				r := c.run(c, api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"no-such-command"}}}, nil, false)
				if forkbox.CodeOf(r.fault) != forkbox.CommandNotFound {
					t.Errorf("%+v", r)
				}
			})
			t.Run("much output", func(t *testing.T) {
				c.limitWorld = w.as(t)
				const size = 64 << 20 // more than is kept of it, and four hundred windows
				r := c.run(c, shell("head -c $1 /dev/zero", fmt.Sprint(size)), nil, true)
				if len(r.out) != size || len(bytes.Trim(r.out, "\x00")) > 0 || r.fault != nil {
					t.Errorf("%d bytes, %v", len(r.out), r.fault)
				}
			})
			if c.client != nil {
				conformLive(t, c, w)
			}
		})
	}
}

// conformLive is what can be done to a command while it runs.
func conformLive(t *testing.T, c *conformer, w *limitWorld) {
	run := func(name string, test func()) {
		t.Run(name, func(t *testing.T) {
			c.limitWorld = w.as(t)
			test()
		})
	}
	run("signal", func() {
		s := c.speak(shell("trap 'echo usr1; exit 6' USR1; echo ready; while :; do sleep 0.05; done"))
		s.hears("ready")
		c.ok(s.Signal(c.Context(), 10))
		if exec, said := s.ends(); exec.Exit.Code != 6 || !strings.Contains(said, "usr1\n") {
			c.Errorf("%+v %q", exec.Exit, said)
		}
	})
	run("deadly signal", func() {
		s := c.speak(shell("echo ready; exec sleep 1000"))
		s.hears("ready")
		c.ok(s.Signal(c.Context(), 15))
		if exec, _ := s.ends(); exec.Exit.Code != 143 {
			c.Errorf("%+v", exec.Exit)
		}
	})
	run("terminal", func() {
		req := shell("stty size; trap 'stty size; exit 7' WINCH; echo ready; while :; do sleep 0.05; done")
		req.TTY, req.Size = true, forkbox.Size{Rows: 11, Cols: 22}
		s := c.speak(req)
		s.hears("11 22")
		s.hears("ready")
		c.ok(s.Resize(c.Context(), forkbox.Size{Rows: 33, Cols: 44}))
		if exec, said := s.ends(); exec.Exit.Code != 7 || !strings.Contains(said, "33 44") {
			c.Errorf("%+v %q", exec.Exit, said)
		}
	})
	run("ctrl-C", func() {
		req := shell("echo ready; exec sleep 1000")
		req.TTY = true
		s := c.speak(req)
		s.hears("ready")
		_, err := s.in.Write([]byte{3})
		c.ok(err)
		if exec, _ := s.ends(); exec.Exit.Code != 130 {
			c.Errorf("%+v", exec.Exit)
		}
	})
	run("broken pipe", func() {
		s := c.speak(shell("yes; echo $? >&2"))
		s.hears("y")
		s.out.Close()
		exec, err := s.Wait(c.Context())
		c.ok(err)
		if exec.Exit == nil {
			c.Errorf("%+v", exec)
		}
	})
	run("slow reader", func() {
		s := c.speak(shell("head -c 4000000 /dev/zero; echo written > $1", c.name))
		c.until("some of it is written", func() bool { return c.logged(s.Info()) > 0 })
		if r := c.run(c, shell("cat $1", c.name), nil, true); r.exec.Exit.Code == 0 {
			c.Error("it does not wait for its reader")
		}
		if _, said := s.ends(); len(said) != 4000000 {
			c.Errorf("%d bytes", len(said))
		}
	})
	run("leaving ends it", func() {
		req := shell("echo ready; exec sleep 1000")
		req.OnDisconnect = api.KillOnDisconnect
		s := c.speak(req)
		s.hears("ready")
		s.Close()
		exec, err := c.WaitExec(c.Context(), "b", s.Info().ID, "")
		c.ok(err)
		if exec.Exit.Cause != forkbox.CauseStopped || exec.Exit.By != "forkbox" {
			c.Errorf("%+v", exec.Exit)
		}
	})
	run("leaving keeps it", func() {
		req := shell("echo ready; read line; sleep 1000")
		s := c.speak(req)
		s.hears("ready")
		s.Close()
		c.ok(c.Kill(c.Context(), "b", s.Info().ID, 0)) // it runs
		exec, err := c.WaitExec(c.Context(), "b", s.Info().ID, "")
		c.ok(err)
		if exec.Exit.By == "forkbox" {
			c.Errorf("%+v", exec.Exit)
		}
	})
}

// logged is how much of an exec's output was kept.
func (w *limitWorld) logged(exec forkbox.Exec) (n int) {
	w.Helper()
	w.ok(w.Logs(w.Context(), exec.Box, exec.ID, false, func(r forkbox.LogRecord) error { n += len(r.Data); return nil }))
	return n
}

// TestScriptsOverAWebSocket: the command line works as well where no file can be
// handed over. Of stdio.txtar one thing does not hold: stdin is read ahead.
func TestScriptsOverAWebSocket(t *testing.T) {
	t.Parallel()
	var files []string
	for _, name := range []string{"inside", "life", "run_apply", "restart", "workloads"} {
		files = append(files, filepath.Join("testdata", name+".txtar"))
	}
	testscript.Run(t, testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			env.Setenv("FORKBOX_TRANSPORT", "websocket")
			_, err := scriptHome(t, env)
			return err
		},
	})
}
