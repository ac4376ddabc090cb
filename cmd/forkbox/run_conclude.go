package main

import (
	"context"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// conclude shows what changed and decides what becomes of the box. The exit
// code is the command's own, unless what was to land did not.
func (r *runner) conclude(ctx context.Context, c *client.Client, signals *signals, result runResult) error {
	r.explainExit(result.Exec)
	if !r.quiet {
		r.tellExecNote(result.Exec)
	}
	r.findRefused(ctx, c, &result)
	known := r.look(ctx, c, &result)
	signals.release() // the box is at rest: ctrl-C at the question keeps it
	fate := r.fate(result, known)
	var failed error
	if fate == applyIt {
		fate, failed = r.land(ctx, c, &result)
	}
	result.Kept = fate != discardIt || !r.removed(ctx, c, result.Box)
	r.tellFate(result, fate)
	if r.json {
		if box, err := c.Box(ctx, result.Box.ID); err == nil {
			result.Box = box
		}
		if err := r.printJSON(result); err != nil {
			return err
		}
	}
	if failed != nil {
		return failed
	}
	if r.interrupted {
		return interrupted
	}
	return exitOf(result.Exec)
}

// look reads and shows what changed, in every scope. It asks for neither
// patches nor hashes: they cost reading every file.
func (r *runner) look(ctx context.Context, c *client.Client, result *runResult) (known bool) {
	var shown glances
	var err error
	spec := forkbox.DiffSpec{Selection: forkbox.Selection{All: true}}
	result.Summary, err = c.Changes(ctx, result.Box.ID, spec, shown.add)
	if err != nil {
		r.say("warning: %v", err)
		return false
	}
	if !r.quiet && !r.json {
		r.showSummary(&shown, *result)
	}
	return true
}

func (r *runner) removed(ctx context.Context, c *client.Client, box forkbox.Box) bool {
	defer r.progress("discarding " + box.Name)()
	if err := c.Remove(ctx, box.ID, true); err != nil {
		r.say("warning: %v", err)
		return false
	}
	return true
}

// explainExit says what an exit code alone does not.
func (a *app) explainExit(exec forkbox.Exec) {
	if a.json || plainExit(exec.Exit) || usualSignal(*exec.Exit) {
		return
	}
	command := "a command"
	if len(exec.Argv) > 0 {
		command = exec.Argv[0]
	}
	switch exec.Exit.Cause {
	case forkbox.CauseTimeout:
		a.report(forkbox.Errorf(forkbox.TimedOut, "finish "+command, "%s", exitText(execExit(exec))))
	case forkbox.CauseNotRun:
		a.report(forkbox.Errorf(forkbox.NotExecutable, "run "+command, "%s", exec.Exit.Why))
	default:
		a.report(forkbox.Errorf(forkbox.Internal, "finish "+command, "%s", exitText(execExit(exec))))
	}
}

// tellExecNote says why a command may have failed. With --json it is in the
// document.
func (a *app) tellExecNote(exec forkbox.Exec) {
	if exec.Note != "" && !a.json {
		a.say("note: %s", printable(exec.Note))
	}
}

// usualSignal is one that a command got from its caller or died of by itself:
// a shell's user expects no words about it.
func usualSignal(exit forkbox.Exit) bool {
	if exit.Cause != forkbox.CauseSignalled {
		return false
	}
	switch strings.TrimPrefix(exit.Signal, "SIG") {
	case "INT", "TERM", "HUP", "QUIT", "PIPE":
		return true
	}
	return exit.By == ""
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
