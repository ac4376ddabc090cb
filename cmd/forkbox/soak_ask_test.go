//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// A history lands, undoes, syncs and forks with the real command. What is done in
// a box, what is only asked (what a box shows, which receipts there are) and the
// stops between are asked of the daemon on one connection: that is most of what it
// does, and starting a process for each took half of its time.

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
	out, code := s.shellIn(name, lookScript)
	return out, code == 0
}

// editFailed is what [soak.editAndShow] exits with where the edit failed.
const editFailed = 98

// editAndShow edits in a box and has it print what it shows then, or why it cannot
// be edited.
func (s *soak) editAndShow(name, script string, args ...string) (out []byte, code int) {
	s.Helper()
	return s.shellIn(name, fmt.Sprintf("{ %s; } 2>&1 || exit %d; %s", script, editFailed, lookScript), args...)
}

// shellIn has a shell in a box run a script. Where the daemon did not take it, code is -1.
func (s *soak) shellIn(name, script string, args ...string) (out []byte, code int) {
	s.Helper()
	read, write, err := os.Pipe()
	s.ok(err)
	defer read.Close()
	argv := append(forkbox.Strings{"sh", "-c", script, "sh"}, forkbox.Strings(args)...)
	req := api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: argv, Dir: s.ws}}
	session, err := s.client.Exec(s.Context(), name, req, forkbox.Stdio{Out: write})
	write.Close()
	if err != nil {
		return nil, -1
	}
	var all bytes.Buffer
	if _, err := io.Copy(&all, read); err != nil {
		return nil, -1
	}
	done, err := session.Wait(s.Context())
	if err != nil || done.Exit == nil {
		return nil, -1
	}
	return all.Bytes(), done.Exit.Code
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
