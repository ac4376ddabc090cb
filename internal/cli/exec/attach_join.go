package exec

import (
	"context"
	"errors"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/stdio"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// join stays until the command has ended or is left alone.
func (r *reattachment) join(ctx context.Context, exec forkbox.Exec) (_ forkbox.Exec, left bool, err error) {
	early, signals := stdio.CatchSignals(ctx)
	defer signals.Release()
	stay, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	in, out := r.files()
	ours, err := stdio.Open(in, out, nil)
	if err != nil {
		return exec, false, forkbox.Wrap("set up stdio", err)
	}
	defer ours.Close()
	ours.KeepPipes()
	ours.OnDetach(leave)
	theirs := ours.Box
	theirs.Last = in != nil && !terminal.IsTerminal(in) // who types can come again
	session, err := r.client.AttachExec(early, exec.Box, exec.ID, theirs)
	if err != nil {
		return exec, false, signals.OrError(err)
	}
	defer session.Close()
	size := func() forkbox.Size { return terminal.TerminalSize(os.Stdout) }
	switch {
	case in == nil || !terminal.IsTerminal(in):
	case exec.TTY:
		if terminal.IsTerminal(os.Stdout) {
			session.Resize(stay, size())
		}
		defer ours.HandKeys(in, session, signals, size)()
	default:
		defer stdio.DetachableLines(in)()
	}
	ours.Relay()
	signals.LeaveOn(leave)
	signals.Forward(session, size, exec.TTY)
	shown := r.showAll(stay, exec)
	now, err := session.Wait(stay)
	if errors.Is(err, context.Canceled) {
		ours.Finish()
		return exec, true, nil
	}
	<-shown
	ours.Finish()
	return now, false, err
}

// files are the caller's. With --all what is shown comes from the log, which has
// it from the beginning and in one piece.
func (r *reattachment) files() (in, out *os.File) {
	if !r.noStdin {
		in = os.Stdin
	}
	switch {
	case r.all:
		return in, nil
	case r.JSON:
		return in, os.Stderr
	}
	return in, os.Stdout
}

// showAll shows what the command wrote and writes, with --all.
func (r *reattachment) showAll(ctx context.Context, exec forkbox.Exec) (done <-chan struct{}) {
	ended := make(chan struct{})
	if !r.all {
		close(ended)
		return ended
	}
	go func() {
		defer close(ended)
		if err := r.follow(ctx, exec); err != nil && ctx.Err() == nil {
			r.Say("warning: %v", err)
		}
	}()
	return ended
}
