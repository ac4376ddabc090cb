//go:build linux

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// readAll is what a command writes from now on, and what is said beside it, up to the
// end of the connection.
func (s *rawSocket) readAll() (output string, said []api.StreamMessage) {
	s.w.Helper()
	for {
		kind, body, err := s.Read(s.w.Context())
		if err != nil {
			return output, said
		}
		if kind == websocket.MessageBinary {
			output += string(body[1:])
			s.say(api.StreamMessage{Type: api.MsgAck, At: &forkbox.StreamAt{Stdout: int64(len(output))}})
			continue
		}
		var msg api.StreamMessage
		s.w.ok(json.Unmarshal(body, &msg))
		said = append(said, msg)
		if msg.Type == api.MsgExit || msg.Type == api.MsgError {
			return output, said
		}
	}
}

// TestStdinRightAfterStarted: a caller may write to a command, and end its stdin, as
// soon as it hears that the command has started.
func TestStdinRightAfterStarted(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.create("b", "")
	for i := range 100 {
		ws := dialRaw(w, "/v1/boxes/b/execs/stream")
		ws.begin(api.StreamRequest{Exec: &api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"cat"}}}, Stdin: true})
		w.ok(ws.Write(t.Context(), websocket.MessageBinary, []byte("\x00hello")))
		ws.say(api.StreamMessage{Type: api.MsgCloseStdin})
		output, said := ws.readAll()
		if output != "hello" || len(said) == 0 || said[len(said)-1].Type != api.MsgExit {
			t.Fatalf("the %d. of them: %q, %+v", i, output, said)
		}
	}
}

// TestWhatASocketCannotObey is told to whoever sent it. A message with a mistake in
// it may have meant anything: it ends the connection.
func TestWhatASocketCannotObey(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.create("b", "")
	for text, want := range map[string]string{
		`{"type":"signal","signal":999}`: "there is no signal 999",
		`{"type":"wave"}`:                `there is no message "wave"`,
		`{"type":"resize"}`:              "something is missing",
		`{"type":"signal","singal":15}`:  `did you mean "signal"`,
		`{`:                              "cannot understand the request",
	} {
		ws := dialRaw(w, "/v1/boxes/b/execs/stream")
		ws.begin(api.StreamRequest{Exec: &api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"cat"}}}, Stdin: true})
		w.ok(ws.Write(t.Context(), websocket.MessageText, []byte(text)))
		ws.say(api.StreamMessage{Type: api.MsgCloseStdin})
		_, said := ws.readAll()
		var told []string
		for _, msg := range said {
			told = append(told, msg.Type+" "+msg.Text)
			if msg.Error != nil {
				told = append(told, msg.Error.Error()+strings.Join(msg.Error.Hints, " "))
			}
		}
		if !strings.Contains(strings.Join(told, "\n"), want) {
			t.Errorf("%s: %q", text, told)
		}
	}
}
