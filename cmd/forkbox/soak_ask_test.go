//go:build linux

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// A history acts with the real command. What it only asks (what a box shows,
// which receipts there are) and the stops between are asked of the daemon on
// one connection: that is most of what it does, and starting a process for each
// took half of its time.

// newClient is a client of the world's daemon, which starts one where none
// listens.
func (w *landWorld) newClient() *client.Client {
	c := client.New(filepath.Join(w.home, "forkbox.sock"))
	c.Redial = func(context.Context) error { return w.command("ls").Run() }
	w.Cleanup(c.Close)
	return c
}

// stop stops a box. A call whose connection ended with a killed daemon is not
// made again by itself, so the command does it.
func (s *soak) stop(name string) {
	s.Helper()
	if _, err := s.client.Stop(s.Context(), name, nil); err != nil {
		s.fb("stop", name)
	}
}

// show has a box print what it shows. It fails where anything cannot be read.
func (s *soak) show(name string) (out []byte, ok bool) {
	s.Helper()
	read, write, err := os.Pipe()
	s.ok(err)
	defer read.Close()
	req := api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: forkbox.Strings{"sh", "-c", lookScript}, Dir: s.ws}}
	session, err := s.client.Exec(s.Context(), name, req, forkbox.Stdio{Out: write})
	write.Close()
	if err != nil {
		return nil, false
	}
	var all bytes.Buffer
	if _, err := io.Copy(&all, read); err != nil {
		return nil, false
	}
	done, err := session.Wait(s.Context())
	return all.Bytes(), err == nil && done.Exit != nil && done.Exit.Code == 0
}

// states are those of all receipts.
func (s *soak) states() map[string]forkbox.ReceiptState {
	s.Helper()
	list, err := s.client.Receipts(s.Context())
	if err != nil {
		return s.landWorld.states()
	}
	all := map[string]forkbox.ReceiptState{}
	for _, r := range list {
		all[r.ID] = r.State
	}
	return all
}
