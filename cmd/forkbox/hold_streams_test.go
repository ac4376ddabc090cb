//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox/api"
)

// footprint is what a daemon takes, after it has collected its garbage.
type footprint struct{ bytes, goroutines int }

func (f footprint) String() string {
	return fmt.Sprintf("%d KiB and %d goroutines", f.bytes>>10, f.goroutines)
}

var footprints = regexp.MustCompile(`(?m)^# (?:HeapAlloc|Stack) = (\d+)|^goroutine profile: total (\d+)`)

// measure asks the daemon's profiles.
func (w *limitWorld) measure() (f footprint) {
	w.Helper()
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(w.home, "forkbox.sock"))
	}}}
	for _, profile := range []string{"heap?gc=1&debug=1", "goroutine?debug=1"} {
		resp, err := web.Get("http://forkbox/debug/pprof/" + profile)
		w.ok(err)
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		w.ok(err)
		for _, m := range footprints.FindAllStringSubmatch(string(text), -1) {
			bytes, _ := strconv.Atoi(m[1])
			goroutines, _ := strconv.Atoi(m[2])
			f.bytes, f.goroutines = f.bytes+bytes, f.goroutines+goroutines
		}
	}
	if f.bytes == 0 || f.goroutines == 0 {
		w.Fatal("the profiles do not say what the daemon takes")
	}
	return f
}

// dearest is what a stream may cost a daemon: two buffers and the stacks of three
// goroutines, with room to spare.
const dearest = 64 << 10

// TestHoldStreams: a stream in which nothing happens costs its connection and
// little else; readers that do not read keep no event from those that do, nor an
// answer from any caller.
func TestHoldStreams(t *testing.T) {
	t.Parallel()
	w := newHoldWorld(t, "http://127.0.0.1:0")
	at, err := w.Listeners(t.Context())
	w.ok(err)
	made, err := w.CreateToken(t.Context(), api.TokenRequest{Scopes: []string{"read"}, Life: time.Hour})
	w.ok(err)
	w.create("b", "")
	address := strings.TrimPrefix(at[0].URL, "http://")
	before := w.measure()
	n, stalled := hold(200, 1000), hold(20, 100)
	var streams []*bufio.Reader
	for range n {
		streams = append(streams, w.follow(address, made.Token))
	}
	for range stalled {
		w.follow(address, made.Token)
	}
	idle := w.measure()
	each := (idle.bytes - before.bytes) / (n + stalled)
	t.Logf("%d streams: from %v to %v, %d bytes each", n+stalled, before, idle, each)
	if each > dearest {
		t.Errorf("a stream takes %d bytes, more than %d", each, dearest)
	}
	const changes = 200
	for i := range changes {
		_, err := w.Keep(t.Context(), "b", i%2 == 0)
		w.ok(err)
	}
	_, err = w.Create(t.Context(), api.CreateRequest{Name: "last", Net: "none"})
	w.ok(err)
	var all sync.WaitGroup
	for _, s := range streams {
		all.Go(func() {
			for {
				line, err := s.ReadString('\n')
				if err != nil {
					t.Errorf("a stream ends: %v", err)
					return
				}
				if strings.Contains(line, `"last"`) {
					return
				}
			}
		})
	}
	all.Wait()
	w.ok(w.Ping(t.Context()))
	busy := w.measure()
	t.Logf("after %d changes: %v", changes, busy)
	if grown := (busy.bytes - idle.bytes) / (n + stalled); grown > dearest {
		t.Errorf("each stream has grown by %d bytes", grown)
	}
}

// follow opens a stream of events, and returns when it has begun.
func (w *limitWorld) follow(address, token string) *bufio.Reader {
	w.Helper()
	conn, err := net.Dial("tcp", address)
	w.ok(err)
	w.Cleanup(func() { conn.Close() })
	w.ok(conn.SetDeadline(time.Now().Add(5 * worldPatience)))
	fmt.Fprintf(conn, "GET /v1/events?after=latest HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nAuthorization: Bearer %s\r\n\r\n", token)
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		w.ok(err)
		if strings.HasPrefix(line, "retry: ") {
			return in
		}
	}
}
