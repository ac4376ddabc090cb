//go:build linux

package fileagent

import (
	"context"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/wire"
)

// TestAnAgentIsNotLetGoWithAConnection: the timer of an agent that rests may fire at
// the moment in which a request comes. Either the request has the agent, which then
// stays, or it has another.
func TestAnAgentIsNotLetGoWithAConnection(t *testing.T) {
	all := &Agents{
		Enter: func() (func(), error) { return func() {}, nil },
		Start: func(_ context.Context, _ forkbox.Owner, control *os.File) (func(), error) {
			return func() {}, takeUntilLetGo(control)
		},
	}
	for i := range 2000 {
		conn, err := all.Files(t.Context(), forkbox.Owner{})
		if err != nil {
			t.Fatal(err)
		}
		resting := all.running[0]
		conn.Close()
		var both sync.WaitGroup
		both.Go(resting.endUnused) // as its timer does
		conn, err = all.Files(t.Context(), forkbox.Owner{})
		both.Wait()
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		all.mu.Lock()
		if a := all.running[0]; a == nil || a.isGone() {
			t.Fatalf("%d: the agent was let go with a connection", i)
		}
		all.mu.Unlock()
		conn.Close()
	}
}

// takeUntilLetGo is an agent that, like the real one, ends when its control socket
// does.
func takeUntilLetGo(file *os.File) error {
	conn, err := net.FileConn(file)
	if err != nil {
		return err
	}
	go func() {
		in := wire.New(conn.(*net.UnixConn))
		defer in.Close()
		for {
			files, err := in.Recv(&struct{}{})
			if err != nil {
				return
			}
			for _, f := range files {
				f.Close()
			}
		}
	}()
	return nil
}
