//go:build linux

// Package agent reads and writes files in a box for the daemon. It runs there, as
// a process of the box's owner in the box's cgroup, and so can do what a command
// of the owner's could do in the box, and nothing else.
//
// What runs in the box may work against it: it opens nothing that could block,
// walks trees by descriptors, and holds no more in memory than a page.
package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/boxfiles"
	"github.com/forkbox/forkbox/internal/wire"
)

// ControlFD is the number of the socket on which the daemon sends connections,
// each with one request. Its end is the agent's.
const ControlFD = 3

// most is how many requests are answered at once. Others wait.
const most = 64

// Serve is the whole life of an agent. It returns the exit code.
func Serve() int {
	// What else runs in the box as this user must not look into this process, where
	// the kernel keeps that from it.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	unix.Umask(0)
	file := os.NewFile(ControlFD, "control")
	conn, err := net.FileConn(file)
	file.Close()
	control, ok := conn.(*net.UnixConn)
	if err != nil || !ok {
		fmt.Fprintln(os.Stderr, "forkbox: this is a part of a box; it cannot be started by hand")
		return 1
	}
	a := &agent{}
	places := make(chan struct{}, most)
	for in := wire.New(control); ; {
		files, err := in.Recv(&struct{}{})
		if err != nil {
			return 0 // the daemon is done with it, or gone
		}
		for _, f := range files {
			places <- struct{}{}
			go func() {
				defer func() { <-places }()
				a.answer(f)
			}()
		}
	}
}

// agent is what its requests share.
type agent struct {
	// replacing is held while a file is replaced, so that what a request found right
	// before is still so then, whatever other requests do.
	replacing sync.Mutex
}

// answer answers the one request of a connection.
func (a *agent) answer(f *os.File) {
	conn, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return
	}
	defer conn.Close()
	s := &session{agent: a, Frames: boxfiles.NewFrames(conn), conn: conn}
	stop := s.live()
	defer stop()
	var req boxfiles.Request
	kind, body, err := s.Next()
	if err != nil || kind != boxfiles.Message || json.Unmarshal(body, &req) != nil {
		return
	}
	out, err := s.do(string(req.Path), req)
	if err != nil {
		out = boxfiles.Outcome{Error: explain(err)}
	}
	if s.Say(boxfiles.End, out) != nil {
		return
	}
	// The daemon may still be sending: it hears why before its connection breaks.
	stop()
	for err = nil; err == nil; {
		_, _, err = s.Next()
	}
}

// session is one request.
type session struct {
	*agent
	*boxfiles.Frames
	conn net.Conn
}

// errGone is the daemon's end of a request.
var errGone = errors.New("the daemon gave it up")

// live says that the agent lives, until it is stopped.
func (s *session) live() (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(boxfiles.Heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if s.Put(boxfiles.Alive, nil) != nil {
					return
				}
			case <-done:
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(done) })
}

func (s *session) do(path string, req boxfiles.Request) (boxfiles.Outcome, error) {
	switch req.Op {
	case boxfiles.OpStat:
		return described(statPath(path, req.Follow))
	case boxfiles.OpRead:
		return boxfiles.Outcome{}, s.read(path)
	case boxfiles.OpWrite:
		return described(s.write(path, req))
	case boxfiles.OpList:
		return s.list(path, req)
	case boxfiles.OpMkdir:
		return described(makeDir(path, req))
	case boxfiles.OpMove:
		return described(move(path, string(req.To), req.Replace))
	case boxfiles.OpRemove:
		return boxfiles.Outcome{}, remove(path, req.Recursive)
	case boxfiles.OpWatch:
		return boxfiles.Outcome{}, s.watch(path, req.Recursive)
	case boxfiles.OpTarOut:
		return tarOut(s, path)
	case boxfiles.OpTarIn:
		return s.tarIn(path, req)
	}
	return boxfiles.Outcome{}, forkbox.Errorf(forkbox.Unsupported, "", "the box's init is older than the daemon").
		Hint("stop the box, and it starts with a newer one: forkbox stop BOX")
}

func described(info boxfiles.Info, err error) (boxfiles.Outcome, error) {
	return boxfiles.Outcome{Info: &info}, err
}
