package exec

import (
	"context"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/stdio"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// conclude shows what changed and decides what becomes of the box. The exit
// code is the command's own, unless what was to land did not.
func (r *runner) conclude(ctx context.Context, c *client.Client, signals *stdio.Signals, result runResult) error {
	explainExit(r.App, result.Exec)
	if !r.quiet {
		tellExecNote(r.App, result.Exec)
	}
	r.findRefused(ctx, c, &result)
	known := r.look(ctx, c, &result)
	signals.Release() // the box is at rest: ctrl-C at the question keeps it
	fate := r.fate(result, known)
	var failed error
	if fate == applyIt {
		fate, failed = r.land(ctx, c, &result)
	}
	result.Kept = fate != discardIt || !r.removed(ctx, c, result.Box)
	r.tellFate(result, fate)
	if r.JSON {
		if box, err := c.Box(ctx, result.Box.ID); err == nil {
			result.Box = box
		}
		if err := r.PrintJSON(result); err != nil {
			return err
		}
	}
	if failed != nil {
		return failed
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
		r.Say("warning: %v", err)
		return false
	}
	if !r.quiet && !r.JSON {
		r.showSummary(&shown, *result)
	}
	return true
}

func (r *runner) removed(ctx context.Context, c *client.Client, box forkbox.Box) bool {
	defer r.Progress("discarding " + box.Name)()
	if err := c.Remove(ctx, box.ID, true); err != nil {
		r.Say("warning: %v", err)
		return false
	}
	return true
}

// explainExit says what an exit code alone does not.
func explainExit(a *app.App, exec forkbox.Exec) {
	if a.JSON || describe.PlainExit(exec.Exit) || usualSignal(*exec.Exit) {
		return
	}
	command := "a command"
	if len(exec.Argv) > 0 {
		command = exec.Argv[0]
	}
	switch exec.Exit.Cause {
	case forkbox.CauseTimeout:
		a.Report(forkbox.Errorf(forkbox.TimedOut, "finish "+command, "%s", describe.Exit(describe.ExecExit(exec))))
	case forkbox.CauseNotRun:
		a.Report(forkbox.Errorf(forkbox.NotExecutable, "run "+command, "%s", exec.Exit.Why))
	default:
		a.Report(forkbox.Errorf(forkbox.Internal, "finish "+command, "%s", describe.Exit(describe.ExecExit(exec))))
	}
}

// tellExecNote says why a command may have failed. With --json it is in the
// document.
func tellExecNote(a *app.App, exec forkbox.Exec) {
	if exec.Note != "" && !a.JSON {
		a.Say("note: %s", terminal.Printable(exec.Note))
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
		return terminal.ExitStatus(exec.Exit.Code)
	}
	return nil
}
