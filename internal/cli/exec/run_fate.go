package exec

import (
	"context"
	"errors"
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/change"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

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
	switch answer := r.Ask(question); {
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
