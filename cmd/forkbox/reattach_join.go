package main

import (
	"context"
	"errors"
	"os"

	"github.com/forkbox/forkbox"
)

// join stays until the command has ended or is left alone.
func (r *reattachment) join(ctx context.Context, exec forkbox.Exec) (_ forkbox.Exec, left bool, err error) {
	early, signals := catchSignals(ctx)
	defer signals.release()
	stay, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	in, out := r.files()
	ours, err := openStdio(in, out, nil)
	if err != nil {
		return exec, false, forkbox.Wrap("set up stdio", err)
	}
	defer ours.close()
	ours.keepPipes()
	ours.onDetach(leave)
	theirs := ours.box
	theirs.Last = in != nil && !isTerminal(in) // who types can come again
	session, err := r.client.AttachExec(early, exec.Box, exec.ID, theirs)
	if err != nil {
		return exec, false, signals.orError(err)
	}
	defer session.Close()
	size := func() forkbox.Size { return terminalSize(os.Stdout) }
	switch {
	case in == nil || !isTerminal(in):
	case exec.TTY:
		if isTerminal(os.Stdout) {
			session.Resize(stay, size())
		}
		defer ours.handKeys(in, session, signals, size)()
	default:
		defer detachableLines(in)()
	}
	ours.relay()
	signals.leaveOn(leave)
	signals.forward(session, size, exec.TTY)
	shown := r.showAll(stay, exec)
	now, err := session.Wait(stay)
	if errors.Is(err, context.Canceled) {
		ours.finish()
		return exec, true, nil
	}
	<-shown
	ours.finish()
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
	case r.json:
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
			r.say("warning: %v", err)
		}
	}()
	return ended
}
