package exec

import (
	"context"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/stdio"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// ttyMode says when a command gets a terminal.
type ttyMode int

const (
	ttyNever  ttyMode = iota
	ttyAuto           // when the caller has one for both stdin and stdout
	ttyAlways         // also when the caller has none
)

// attachment runs a command in a box as if it ran here: the caller's stdio,
// terminal and signals are its own.
type attachment struct {
	*app.App
	client *client.Client
	box    string
	create *api.CreateRequest // make a box for it
	made   forkbox.Box        // that box; without an id there is none
	stdin  bool               // pass it on; empty otherwise
	tty    ttyMode
	begun  func() // runs when the box is made and the command started
	after  func() // runs when the command has ended, before its output is taken for complete
}

// run returns when the command has ended and its output has been written. An
// error means that it did not run.
func (at *attachment) run(early context.Context, signals *stdio.Signals, req api.ExecRequest) (forkbox.Exec, error) {
	in, out, stderr := at.files()
	req.TTY = at.tty == ttyAlways || at.tty == ttyAuto && terminal.IsTerminal(in) && terminal.IsTerminal(out) && stdio.InForeground(in)
	if req.TTY {
		req.Size = terminal.WindowSize(out)
		stderr = nil // a terminal has one output
	}
	stdio, err := stdio.Open(in, out, stderr)
	if err != nil {
		return forkbox.Exec{}, forkbox.Wrap("set up stdio", err)
	}
	defer stdio.Close()
	session, err := at.start(early, req, stdio.Box)
	if err != nil {
		return forkbox.Exec{}, err
	}
	defer session.Close()
	if at.begun != nil {
		at.begun()
	}
	size := func() forkbox.Size { return terminal.WindowSize(out) }
	if req.TTY {
		defer stdio.HandKeys(in, session, signals, size)()
	}
	stdio.Relay()
	signals.Forward(session, size, req.TTY)
	// Not under early: from here on a signal is the command's affair.
	exec, err := session.Wait(context.WithoutCancel(early))
	if at.after != nil && !session.Stopped() {
		at.after()
	}
	stdio.Finish()
	return exec, err
}

func (at *attachment) start(early context.Context, req api.ExecRequest, stdio forkbox.Stdio) (session *client.Session, err error) {
	defer at.ProgressOf(at.Place("starting "+terminal.Printable(req.Argv[0]), req.Wish.Ticket))()
	if at.create == nil {
		return at.client.Exec(early, at.box, req, stdio)
	}
	at.create.Wish.Ticket = req.Wish.Ticket // one caller has one place, first for the box and then for the command
	// A box may exist from here on, and whatever happens it is cleaned up: Run
	// returns it also when a signal takes the request back.
	at.made, session, err = at.client.Run(early, api.RunRequest{Create: *at.create, Exec: req}, stdio)
	if err != nil && early.Err() != nil {
		err = early.Err()
	}
	return session, err
}

// files are the caller's. With --json stdout is for the document.
func (at *attachment) files() (in, out, stderr *os.File) {
	if at.stdin {
		in = os.Stdin
	}
	if at.JSON {
		return in, os.Stderr, os.Stderr
	}
	return in, os.Stdout, os.Stderr
}
