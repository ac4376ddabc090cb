package main

import (
	"context"
	"errors"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// join stays until the command has ended or is left alone.
func (r *reattachment) join(ctx context.Context, exec forkbox.Exec) (_ forkbox.Exec, left bool, err error) {
	early, signals := catchSignals(ctx)
	defer signals.release()
	stay, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	in, out := r.files()
	stdio, err := openStdio(in, out, nil)
	if err != nil {
		return exec, false, forkbox.Wrap("set up stdio", err)
	}
	defer stdio.close()
	stdio.keepPipes()
	stdio.onDetach(leave)
	theirs := stdio.box
	theirs.Last = in != nil && !isTerminal(in) // who types can come again
	session, err := r.client.AttachExec(early, exec.Box, exec.ID, theirs)
	if err != nil {
		return exec, false, signals.orError(err)
	}
	defer session.Close()
	defer r.takeTerminal(stay, session, exec.TTY)()
	stdio.relay()
	signals.leaveOn(leave)
	signals.forward(session, func() forkbox.Size { return terminalSize(os.Stdout) }, exec.TTY)
	shown := r.showAll(stay, exec)
	now, err := session.Wait(stay)
	if errors.Is(err, context.Canceled) {
		stdio.finish()
		return exec, true, nil
	}
	<-shown
	stdio.finish()
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

// takeTerminal gives a command that has a terminal every key, and its size; for
// one that has none the keys to leave it work. The function it returns puts the
// caller's back.
func (r *reattachment) takeTerminal(ctx context.Context, session *client.Session, tty bool) (restore func()) {
	switch {
	case r.noStdin || !isTerminal(os.Stdin):
		return func() {}
	case !tty:
		return detachableLines(os.Stdin)
	}
	if isTerminal(os.Stdout) {
		session.Resize(ctx, terminalSize(os.Stdout))
	}
	return rawTerminal(os.Stdin)
}
