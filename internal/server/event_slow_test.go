package server

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
)

// A reader of events that does not read is cut off. Until then it costs its own
// connection, and no other caller waits for it.
func TestAReaderThatStallsIsCutOff(t *testing.T) {
	cut := make(chan error, 1)
	r := start(t, func(s *Server) {
		s.Slowest = 100 * time.Millisecond
		s.Engine = endlessEvents{s.Engine, cut}
	})
	conn, err := net.Dial("unix", r.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
	if _, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil); err != nil {
		t.Fatal(err)
	}
	for done := false; !done; {
		select {
		case err := <-cut:
			if err == nil || !strings.Contains(err.Error(), "timeout") {
				t.Errorf("it is cut off for %v", err)
			}
			done = true
		default:
			if _, err := r.client.Version(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// endlessEvents has one event after another, as fast as it is read.
type endlessEvents struct {
	Engine
	cut chan error
}

func (e endlessEvents) Events(ctx context.Context, _ forkbox.Owner, spec engine.EventSpec, yield func(forkbox.Event) error) error {
	err := spec.OnBegin()
	for id := int64(1); err == nil && ctx.Err() == nil; id++ {
		err = yield(forkbox.Event{ID: id, Kind: forkbox.EventPaused, Time: time.Now()})
	}
	e.cut <- err
	return err
}
