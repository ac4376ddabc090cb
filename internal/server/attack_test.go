package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/api/apitest"
	"github.com/forkbox/forkbox/internal/access"
	"github.com/forkbox/forkbox/internal/boxfiles"
	"github.com/forkbox/forkbox/internal/engine"
	"github.com/forkbox/forkbox/internal/listen"
)

// attackOnce makes an attack on a server of its own, in this process.
func attackOnce(t *testing.T, attack apitest.Attack) {
	t.Helper()
	log := &strings.Builder{}
	fake := newFake()
	fake.Files = noFiles{}
	s := New(Config{Engine: fake, Version: "test", Log: slog.New(slog.NewTextHandler(log, nil))})
	s.uid = 0
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(attack.Bytes(""))))
	if err != nil {
		return // net/http refuses it
	}
	peer := &access.Principal{Owner: forkbox.Owner{Name: "root"}, Kind: access.Peer, Scopes: access.AllScopes}
	ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), connKey{}, &connection{peer: peer, from: "unix"}), 50*time.Millisecond)
	defer cancel()
	w := duplexRecorder{httptest.NewRecorder()}
	s.handler().ServeHTTP(w, req.WithContext(ctx))
	if ctx.Err() == nil { // else the caller had gone
		if err := attack.Judge(w.Result(), w.Body.Bytes(), true); err != nil {
			t.Error(err)
		}
	}
	if strings.Contains(log.String(), "msg=panic") {
		t.Errorf("%v\n%s", attack, log)
	}
}

// duplexRecorder can be written to while the body is read.
type duplexRecorder struct{ *httptest.ResponseRecorder }

func (duplexRecorder) EnableFullDuplex() error         { return nil }
func (duplexRecorder) SetReadDeadline(time.Time) error { return nil }

// canBeRecorded leaves out what takes the connection over, and profiles, of which
// there is one at a time in a process.
func canBeRecorded(route *api.Route) bool {
	return route.Answer != api.SocketAnswer && route.Lines == nil && route != api.GetProfile.Route
}

// FuzzRequests: whatever is asked, the answer is the route's or an error of the
// documented form, and no handler panics.
func FuzzRequests(f *testing.F) {
	routes := slices.DeleteFunc(slices.Clone(api.Routes()), func(r *api.Route) bool { return !canBeRecorded(r) })
	for i := range routes {
		f.Add(uint16(i), uint64(i), []byte(nil), "")
		f.Add(uint16(i), uint64(i+1000), []byte(`{"name":1}`), "limit=x")
	}
	f.Fuzz(func(t *testing.T, i uint16, seed uint64, body []byte, query string) {
		CheckAnswer = nil
		attack := apitest.NewAttacker(seed, map[string]string{"box": "b1", "exec": "1", "snapshot": "s"}).Draw(routes[int(i)%len(routes)])
		if len(body) > 0 {
			attack.Body = body
		}
		if query != "" {
			attack.Target, _, _ = strings.Cut(attack.Target, "?")
			attack.Target += "?" + query
		}
		attackOnce(t, attack)
	})
}

// A body that comes too slowly is answered with an error and cut off: who sends a
// byte a minute does not keep a request for ever.
func TestASlowBodyEnds(t *testing.T) {
	r := startOutside(t, func(s *Server) { s.BodyTime = 50 * time.Millisecond })
	r.engine.Files = noFiles{}
	token := r.token(t, "all")
	for _, route := range api.Routes() {
		if route.Method == http.MethodGet || route == api.SetSecret.Route { // which this server refuses before
			continue
		}
		t.Run(route.Name, func(t *testing.T) {
			conn := r.dial(t)
			fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n{", route.Method, route.URL(nil, "b1", "x"), token)
			in := bufio.NewReader(conn)
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "too slowly") && route != api.AddBase.Route {
				t.Errorf("%s %s", resp.Status, text)
			}
			if _, err := in.ReadByte(); err != io.EOF {
				t.Errorf("the connection goes on: %v", err)
			}
		})
	}
}

// Much that came before is no leave to be silent: what was brought quickly does not
// keep a request for the time that it might have taken.
func TestABodyThatFallsSilentEnds(t *testing.T) {
	r := startOutside(t, func(s *Server) { s.BodyTime = 200 * time.Millisecond })
	conn := r.dial(t)
	fmt.Fprintf(conn, "POST /v1/boxes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 5000000\r\n\r\n{\"name\":\"%s", r.token(t, "all"), strings.Repeat("a", 4<<20))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "too slowly") {
		t.Errorf("%s %s", resp.Status, text)
	}
}

// Who comes when as many are connected as may be is hung up on, and those who are
// there are served.
func TestNoMoreConnectionsThanMayBe(t *testing.T) {
	at, err := listen.ParseAddress("http://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := at.Open(&listen.Limit{All: 3, Each: 3})
	if err != nil {
		t.Fatal(err)
	}
	r := startOutside(t, func(s *Server) {
		s.Outside.Listeners[0].Close()
		s.Outside.Listeners = []*listen.Listener{l}
	})
	r.url = l.URL
	asks := func(conn net.Conn) error {
		if _, err := io.WriteString(conn, "GET /v1/version HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			return err
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
		}
		return err
	}
	var all []net.Conn
	for range 3 {
		conn := r.dial(t)
		if err := asks(conn); err != nil {
			t.Fatal(err)
		}
		all = append(all, conn)
	}
	if err := asks(r.dial(t)); err == nil {
		t.Error("a fourth is served")
	}
	for _, conn := range all {
		if err := asks(conn); err != nil {
			t.Errorf("one that was there: %v", err)
		}
	}
	all[0].Close()
	for asks(r.dial(t)) != nil { // until the server has seen that it is gone
		if t.Context().Err() != nil {
			t.Fatal("the place of one that left stays taken")
		}
	}
}

// dial connects, and hangs up when the test is over.
func (r *reached) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // which only comes where a test fails
	return conn
}

// noFiles is a box that has none.
type noFiles struct{ Files }

func noFile(path string) error {
	return forkbox.Errorf(forkbox.NotFound, "find "+path, "there is none")
}

func (noFiles) OpenFile(_ context.Context, _ forkbox.Owner, _ string, req engine.FileRequest) (*engine.File, error) {
	return nil, noFile(req.Path)
}
func (noFiles) WriteFile(_ context.Context, _ forkbox.Owner, _ string, req engine.FileRequest, body io.Reader) (boxfiles.Info, error) {
	if _, err := io.Copy(io.Discard, body); err != nil {
		return boxfiles.Info{}, err
	}
	return boxfiles.Info{}, noFile(req.Path)
}
func (noFiles) StatFile(_ context.Context, _ forkbox.Owner, _ string, req engine.FileRequest) (boxfiles.Info, error) {
	return boxfiles.Info{}, noFile(req.Path)
}
func (noFiles) MakeDir(_ context.Context, _ forkbox.Owner, _ string, req engine.FileRequest) (boxfiles.Info, error) {
	return boxfiles.Info{}, noFile(req.Path)
}
func (noFiles) MoveFile(_ context.Context, _ forkbox.Owner, _ string, req engine.FileRequest) (boxfiles.Info, error) {
	return boxfiles.Info{}, noFile(req.Path)
}
func (noFiles) RemoveFile(_ context.Context, _ forkbox.Owner, _ string, req engine.FileRequest) error {
	return noFile(req.Path)
}
func (noFiles) ListFiles(_ context.Context, _ forkbox.Owner, _ string, req engine.FileRequest, _ func(boxfiles.Info) error) ([]byte, error) {
	return nil, noFile(req.Path)
}
func (noFiles) WatchFiles(_ context.Context, _ forkbox.Owner, _ string, req engine.FileRequest, _ func() error, _ func(boxfiles.Change) error) error {
	return noFile(req.Path)
}
func (noFiles) TarOut(_ context.Context, _ forkbox.Owner, _ string, req engine.FileRequest, _ io.Writer) (boxfiles.Outcome, error) {
	return boxfiles.Outcome{}, noFile(req.Path)
}
func (noFiles) TarIn(_ context.Context, _ forkbox.Owner, _ string, req engine.FileRequest, body io.Reader) (boxfiles.Outcome, error) {
	if _, err := io.Copy(io.Discard, body); err != nil {
		return boxfiles.Outcome{}, err
	}
	return boxfiles.Outcome{}, noFile(req.Path)
}
