package exec

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/change"
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
	if r.interrupted {
		return terminal.Interrupted
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

// fate is what becomes of the box of a run.
type fate int

const (
	keepIt fate = iota
	discardIt
	applyIt // then one of the others
)

// fate decides by the flags, else by what changed, else by asking.
func (r *runner) fate(result runResult, known bool) fate {
	nothing := known && result.Summary.Total == 0
	switch {
	case r.apply && succeeded(result.Exec) && !nothing:
		return applyIt
	case r.keep:
		return keepIt
	case r.discard || nothing && r.box.Name == "":
		return discardIt
	case nothing: // who gave it a name wants it, with what it said and tried to reach
		return keepIt
	case r.quiet || !known || !r.CanAsk():
		return keepIt
	}
	return r.askFate(landable(result.Summary) != "")
}

// askFate takes anything unclear for keep: that can be undone.
func (r *runner) askFate(some bool) fate {
	r.asked = true
	question := "apply, keep or discard? [a/k/d] (keep)"
	if !some {
		question = "keep or discard? [k/d] (keep)"
	}
	var answer string
	answer, r.interrupted = r.AskUnlessInterrupted(question)
	switch {
	case some && (answer == "a" || answer == "apply"):
		return applyIt
	case answer == "d" || answer == "discard":
		return discardIt
	}
	return keepIt
}

func succeeded(exec forkbox.Exec) bool { return exec.Exit != nil && exec.Exit.Code == 0 }

// land applies the workspace. Afterwards the box is kept as long as there is
// something in it that is nowhere else, unless it was to be discarded; when the
// apply failed, in any case.
func (r *runner) land(ctx context.Context, c *client.Client, result *runResult) (fate, error) {
	l := &change.Lander{App: r.App, AfterRun: true}
	receipt, err := l.Land(ctx, c, result.Box.Name, forkbox.ApplySpec{Message: terminal.CommandLine(result.Exec.Argv)})
	if err != nil {
		var e *forkbox.Error
		if errors.As(err, &e) {
			r.Report(e)
			err = terminal.ExitStatus(e.Code.ExitCode())
		}
		return keepIt, err
	}
	result.Receipt = &receipt
	r.tellReceipt(result.Box.Name, receipt)
	switch {
	case r.keep:
		return keepIt, nil
	case r.discard:
		return discardIt, nil
	}
	return r.fateOfRest(ctx, c, result), nil
}

func (r *runner) tellReceipt(name string, receipt forkbox.Receipt) {
	switch {
	case r.JSON || r.quiet:
	case receipt.ID == "":
		change.TellNothing(r.App, name, receipt)
	default:
		change.TellLanded(r.App, receipt)
	}
}

// fateOfRest looks again: what landed is no difference any more.
func (r *runner) fateOfRest(ctx context.Context, c *client.Client, result *runResult) fate {
	spec := forkbox.DiffSpec{Selection: forkbox.Selection{All: true}}
	rest, err := c.Changes(ctx, result.Box.ID, spec, func(forkbox.Change) error { return nil })
	if err == nil && rest.Total == 0 {
		return discardIt
	}
	return keepIt
}

// tellFate says how to go on.
func (r *runner) tellFate(result runResult, what fate) {
	name := result.Box.Name
	switch {
	case r.quiet || r.JSON || r.keep || r.discard:
	case result.Kept && result.Receipt != nil:
		r.Say("the rest is kept as %s. Look: forkbox diff --all %s   Discard: forkbox rm %s", name, name, name)
	case result.Kept && what == keepIt && r.asked:
		r.Say("kept. %s", waysOn(name, result.Summary))
	case result.Kept && what == keepIt && result.Summary.Total == 0:
		r.Say("kept as %s. Output: forkbox logs %s   Discard: forkbox rm %s", name, name, name)
	case result.Kept && what == keepIt:
		r.Say("kept as %s. %s", name, waysOn(name, result.Summary))
	case !result.Kept && result.Receipt == nil && result.Summary.Total > 0:
		r.Say("discarded")
	}
}

// waysOn offers an apply only where one would land something.
func waysOn(name string, s forkbox.Summary) string {
	look, apply := "forkbox diff ", ""
	switch {
	case landable(s) != "":
		apply = "   Apply: " + landable(s) + name
	case s.System.Total > 0:
		look, apply = "forkbox diff --all ", "   Apply: forkbox apply --all "+name
	case s.Total > 0:
		look = "forkbox diff --all "
	}
	return fmt.Sprintf("Look: %s%s%s   Discard: forkbox rm %s", look, name, apply, name)
}

// landable is the verb that lands the workspace, where that has changed.
func landable(s forkbox.Summary) string {
	if s.Workspace.Total == 0 {
		return ""
	}
	return "forkbox apply "
}
