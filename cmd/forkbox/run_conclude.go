package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// conclude shows what changed and decides what becomes of the box. The exit
// code is the command's own, whatever happens here.
func (r *runner) conclude(ctx context.Context, c *client.Client, signals *signals, result runResult) error {
	r.explainExit(result.Exec)
	var err error
	look := newGlance(result.Box)
	result.Summary, err = c.Changes(ctx, result.Box.ID, look.add)
	if err != nil {
		r.say("warning: %v", err)
	}
	known := err == nil
	if known && !r.quiet && !r.json {
		r.showSummary(look, result)
	}
	signals.release() // the box is at rest: ctrl-C at the question keeps it
	result.Kept = r.wantKept(result, known)
	if !result.Kept {
		defer r.progress("discarding " + result.Box.Name)()
		if err := c.Remove(ctx, result.Box.ID, true); err != nil {
			r.say("warning: %v", err)
			result.Kept = true
		}
	}
	if r.json {
		if box, err := c.Box(ctx, result.Box.ID); err == nil {
			result.Box = box
		}
		if err := r.printJSON(result); err != nil {
			return err
		}
	}
	return exitOf(result.Exec)
}

func (r *runner) wantKept(result runResult, known bool) bool {
	name := result.Box.Name
	switch {
	case r.keep || r.discard:
		return r.keep
	case known && result.Summary.Total == 0:
		return false
	case r.json || r.quiet || !known:
		return true
	case isTerminal(os.Stdin) && isTerminal(os.Stderr):
		return r.ask(name)
	}
	r.say("kept as %s. Look: forkbox diff %s   Discard: forkbox rm %s", name, name, name)
	return true
}

// ask takes anything but a clear d for keep: that can be undone.
func (r *runner) ask(name string) bool {
	fmt.Fprint(r.stderr, "keep or discard? [k/d] (keep) ")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		fmt.Fprintln(r.stderr)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "d", "discard":
		r.say("discarded")
		return false
	}
	r.say("kept. Look: forkbox diff %s   Discard: forkbox rm %s", name, name)
	return true
}

// explainExit says what an exit code alone does not.
func (a *app) explainExit(exec forkbox.Exec) {
	if exec.Exit == nil || a.json {
		return
	}
	command := "run a command"
	if len(exec.Argv) > 0 {
		command = "run " + exec.Argv[0]
	}
	why := exec.Exit.Why
	switch exec.Exit.Cause {
	case forkbox.CauseTimeout:
		a.report(forkbox.Errorf(forkbox.TimedOut, "finish "+command[len("run "):], "its time ran out"))
	case forkbox.CauseLost:
		a.report(forkbox.Errorf(forkbox.Internal, command, "the box died under it%s", because(why)))
	case forkbox.CauseNotRun:
		a.report(forkbox.Errorf(forkbox.NotExecutable, command, "%s", why))
	case forkbox.CauseStopped:
		a.say("%s was stopped%s", printable(command[len("run "):]), because(why))
	}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func exitOf(exec forkbox.Exec) error {
	switch {
	case exec.Exit == nil:
		return forkbox.Errorf(forkbox.Internal, "learn how the command ended", "the daemon did not say")
	case exec.Exit.Code != 0:
		return exitStatus(exec.Exit.Code)
	}
	return nil
}
