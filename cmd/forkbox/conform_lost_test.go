//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

func md5Of(p []byte) string {
	sum := md5.Sum(p)
	return hex.EncodeToString(sum[:])
}

// cutter stands between clients and a daemon, and cuts each connection after some
// bytes.
type cutter struct {
	net.Listener
	to     string
	mu     sync.Mutex
	random *rand.Rand
	cuts   int // that are left
}

// newCutter cuts so many connections, and then no more.
func newCutter(w *limitWorld, cuts int) *cutter {
	l, err := net.Listen("unix", filepath.Join(w.home, "cut.sock"))
	w.ok(err)
	c := &cutter{Listener: l, to: filepath.Join(w.home, "forkbox.sock"), random: rand.New(rand.NewSource(1)), cuts: cuts}
	w.Cleanup(func() { l.Close() })
	go c.serve()
	return c
}

func (c *cutter) serve() {
	for {
		conn, err := c.Accept()
		if err != nil {
			return
		}
		go c.relay(conn)
	}
}

// after is how many bytes a connection lasts.
func (c *cutter) after() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cuts == 0 {
		return 1 << 40
	}
	c.cuts--
	return 2000 + c.random.Int63n(400_000)
}

func (c *cutter) relay(conn net.Conn) {
	defer conn.Close()
	far, err := net.Dial("unix", c.to)
	if err != nil {
		return
	}
	defer far.Close()
	after := c.after()
	done := make(chan struct{}, 2)
	move := func(to, from net.Conn) {
		io.CopyN(to, from, after)
		done <- struct{}{}
	}
	go move(conn, far)
	go move(far, conn)
	<-done
}

// TestExecSurvivesLostConnections: wherever connections are cut, no byte is lost
// and none is there twice, in both directions.
func TestExecSurvivesLostConnections(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.create("b", "")
	cut := newCutter(w, 25)
	over := client.New(cut.Addr().String())
	over.WebSocket = true
	t.Cleanup(over.Close)
	stdin := make([]byte, 4<<20)
	rand.New(rand.NewSource(2)).Read(stdin)
	c := &conformer{limitWorld: w, run: runSession, client: over}
	r := c.run(c, shell("tee /dev/stderr; exit 9"), stdin, false)
	if r.fault != nil || r.exec.Exit == nil || r.exec.Exit.Code != 9 {
		t.Fatalf("%+v %v\n%s", r.exec, r.fault, w.log())
	}
	if !bytes.Equal(r.out, stdin) || !bytes.Equal(r.err, stdin) {
		t.Errorf("%d bytes came back and %d, of %d", len(r.out), len(r.err), len(stdin))
	}
	if cut.after() < 1<<40 {
		t.Errorf("not all connections were cut: %d are left", cut.cuts)
	}
}

// TestExecSurvivesTheDaemon: a daemon that is killed takes nothing with it, not
// even what it had read and not passed on.
func TestExecSurvivesTheDaemon(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.create("b", "")
	over := client.New(filepath.Join(w.home, "forkbox.sock"))
	over.WebSocket = true
	again := make(chan struct{}, 100)
	over.Redial = func(ctx context.Context) error { // as a client that starts daemons would
		select {
		case <-again:
		case <-ctx.Done():
		}
		again <- struct{}{}
		return ctx.Err()
	}
	t.Cleanup(over.Close)
	const size = 40 << 20 // more than is kept in a log
	c := &conformer{limitWorld: w, client: over}
	s := c.speak(shell("head -c $1 /dev/zero; cat", fmt.Sprint(size)))
	first := make([]byte, 10<<20)
	_, err := io.ReadFull(s.said, first)
	w.ok(err)
	w.kill()
	w.serve()
	again <- struct{}{}
	s.says("still there")
	s.in.Close()
	exec, said := s.ends()
	if got := len(first) + len(said); got != size+len("still there\n") || exec.Exit.Code != 0 {
		t.Errorf("%d bytes and %+v\n%s", got, exec.Exit, w.log())
	}
}

// TestVanishedReader: what becomes of a command whose caller is gone without a
// word is decided when its grace has passed.
func TestVanishedReader(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.create("b", "")
	for _, what := range []string{api.KillOnDisconnect, api.KeepOnDisconnect} {
		t.Run(what, func(t *testing.T) {
			w := w.as(t)
			ws := dialRaw(w, "/v1/boxes/b/execs/stream")
			req := shell("echo ready; head -c 1000000 /dev/zero; echo written > written; sleep 1000")
			req.OnDisconnect = what
			grace := time.Duration(0)
			exec := ws.begin(api.StreamRequest{Exec: &req, Grace: &grace})
			ws.CloseNow()
			if what == api.KeepOnDisconnect {
				w.until("it goes on", func() bool { return w.logged(exec) > 1000000 })
				w.ok(w.Kill(w.Context(), "b", exec.ID, 0))
			}
			ended, err := w.WaitExec(w.Context(), "b", exec.ID, "")
			w.ok(err)
			if ended.Exit.Cause != forkbox.CauseStopped || (ended.Exit.By == "forkbox") != (what == api.KillOnDisconnect) {
				t.Errorf("%+v", ended.Exit)
			}
		})
	}
}

// TestManyTerminals: fifty at once.
func TestManyTerminals(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.create("b", "")
	over := client.New(filepath.Join(w.home, "forkbox.sock"))
	over.WebSocket = true
	t.Cleanup(over.Close)
	c := &conformer{limitWorld: w, client: over}
	var all []*talk
	for i := range 50 {
		req := shell("echo ready $1; read line; echo $line $1; exit $1", fmt.Sprint(i))
		req.TTY = true
		all = append(all, c.speak(req))
	}
	for i, s := range all {
		s.hears(fmt.Sprintf("ready %d", i))
	}
	for _, s := range all {
		s.says("hello")
	}
	for i, s := range all {
		s.hears(fmt.Sprintf("hello %d", i))
		if exec, _ := s.ends(); exec.Exit.Code != i {
			t.Errorf("%d: %+v", i, exec.Exit)
		}
	}
}
