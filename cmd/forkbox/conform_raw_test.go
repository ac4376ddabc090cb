//go:build linux

package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"

	"github.com/coder/websocket"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// rawSocket is a client of the stream that does not know better than the test.
type rawSocket struct {
	*websocket.Conn
	w *limitWorld
}

func dialRaw(w *limitWorld, path string) *rawSocket {
	w.Helper()
	web := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(w.home, "forkbox.sock"))
	}}}
	conn, _, err := websocket.Dial(w.Context(), "ws://forkbox"+path, &websocket.DialOptions{HTTPClient: web})
	w.ok(err)
	w.Cleanup(func() { conn.CloseNow() })
	return &rawSocket{Conn: conn, w: w}
}

func (s *rawSocket) say(doc any) {
	s.w.Helper()
	text, err := json.Marshal(doc)
	s.w.ok(err)
	s.w.ok(s.Write(s.w.Context(), websocket.MessageText, text))
}

// hear is the next message that is not data.
func (s *rawSocket) hear() (msg api.StreamMessage) {
	s.w.Helper()
	for {
		kind, body, err := s.Read(s.w.Context())
		s.w.ok(err)
		if kind == websocket.MessageText {
			s.w.ok(json.Unmarshal(body, &msg))
			return msg
		}
	}
}

func (s *rawSocket) begin(req api.StreamRequest) forkbox.Exec {
	s.w.Helper()
	s.say(req)
	msg := s.hear()
	if msg.Type != api.MsgStarted || msg.Exec == nil {
		s.w.Fatalf("%+v", msg)
	}
	return *msg.Exec
}
