//go:build linux

package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// TestStreamsEndWithTheirToken: whoever follows, reads, writes or runs something with a
// token is cut off when it is revoked, told why, and not let in again. What runs in the
// box is as after a connection that was lost.
func TestStreamsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	w := newHoldWorld(t, "http://127.0.0.1:0")
	w.create("b", "")
	at, err := w.Listeners(t.Context())
	w.ok(err)
	made, err := w.CreateToken(t.Context(), api.TokenRequest{Scopes: []string{"all"}, Life: time.Hour})
	w.ok(err)
	bearer := http.Header{"Authorization": {"Bearer " + made.Token}}
	exec, err := w.ExecDetached(t.Context(), "b", api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"sh", "-c", "echo begun; sleep 1000"}}})
	w.ok(err)

	upload, more := io.Pipe()
	defer more.Close()
	ended := map[string]chan string{}
	for name, ask := range map[string]struct {
		method, path, body string
		accept             string
	}{
		"events":   {"GET", "/v1/events", "", api.EventStream},
		"a log":    {"GET", "/v1/boxes/b/execs/" + exec.ID + "/logs?follow=1", "", ""},
		"a watch":  {"GET", "/v1/boxes/b/files/watch?path=/tmp", "", ""},
		"contacts": {"GET", "/v1/boxes/b/net/log?follow=1", "", ""},
		"a post":   {"POST", "/v1/boxes/b/execs?stream=lines", `{"argv":["sleep","1000"]}`, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), ask.method, at[0].URL+ask.path, strings.NewReader(ask.body))
		w.ok(err)
		req.Header = bearer.Clone()
		req.Header.Set("Accept", ask.accept)
		resp, err := http.DefaultClient.Do(req) // answers when it has begun
		w.ok(err)
		if resp.StatusCode != 200 {
			t.Fatalf("%s: %d", name, resp.StatusCode)
		}
		ch := make(chan string, 1)
		ended[name] = ch
		go func() {
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			ch <- string(text)
		}()
	}
	answered := func(name, method, path string, body io.Reader) {
		ch := make(chan string, 1)
		ended[name] = ch
		req, err := http.NewRequestWithContext(t.Context(), method, at[0].URL+path, body)
		w.ok(err)
		req.Header = bearer.Clone()
		go func() {
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				ch <- err.Error()
				return
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			ch <- fmt.Sprint(resp.StatusCode, string(text))
		}()
	}
	answered("a wait", "GET", "/v1/boxes/b/execs/"+exec.ID+"/wait", nil)
	answered("an upload", "PUT", "/v1/boxes/b/files?path=/tmp/half", upload)
	_, err = more.Write([]byte("half")) // it was taken from here
	w.ok(err)
	ws, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(at[0].URL, "http")+"/v1/boxes/b/execs/stream", &websocket.DialOptions{HTTPHeader: bearer})
	w.ok(err)
	socket := &rawSocket{Conn: ws, w: w}
	grace := time.Duration(0)
	mine := socket.begin(api.StreamRequest{Exec: &api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"sleep", "1000"}}, OnDisconnect: api.KillOnDisconnect}, Grace: &grace})

	_, err = w.RemoveToken(t.Context(), made.Made.ID)
	w.ok(err)
	if _, said := socket.readAll(); len(said) == 0 || said[len(said)-1].Error == nil || !strings.Contains(said[len(said)-1].Error.Error(), "was revoked") {
		t.Errorf("the socket: %+v", said)
	}
	after, err := w.WaitExec(t.Context(), "b", mine.ID, "")
	w.ok(err)
	if after.Exit.Cause != forkbox.CauseStopped || after.Exit.By != "forkbox" {
		t.Errorf("its command: %+v", after.Exit)
	}
	_, _ = more.Write([]byte("more"))
	for name, ch := range ended {
		if text := <-ch; !strings.Contains(text, "was revoked") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if now, err := w.GetExec(t.Context(), "b", exec.ID); err != nil || now.Exit != nil {
		t.Errorf("what runs by itself: %+v %v", now.Exit, err)
	}
	if _, err := w.Files("b").Stat(t.Context(), "/tmp/half", false); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("half a file was written: %v", err)
	}
}
