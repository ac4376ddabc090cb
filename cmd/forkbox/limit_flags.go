package main

import (
	"crypto/rand"

	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
)

// limitFlags are those of the verbs that limit what a box or a command uses.
type limitFlags struct {
	limits   forkbox.Limits
	effort   limitEffort
	priority limitPriority
	wait     limitWait
}

// addForBox adds what a box can be limited in.
func (f *limitFlags) addForBox(cmd *cobra.Command) {
	f.add(cmd, func(forkbox.Resource) bool { return true })
}

// addForRun is addForBox where --timeout is the command's own.
func (f *limitFlags) addForRun(cmd *cobra.Command) {
	f.add(cmd, func(r forkbox.Resource) bool { return r != forkbox.Timeout })
}

// addForExec adds what one command can be limited in, but for its timeout,
// which is a flag of its own.
func (f *limitFlags) addForExec(cmd *cobra.Command) {
	f.add(cmd, func(r forkbox.Resource) bool { return r.PerExec() && r != forkbox.Timeout })
}

func (f *limitFlags) add(cmd *cobra.Command, wanted func(forkbox.Resource) bool) {
	f.limits = forkbox.Limits{}
	for _, r := range forkbox.Resources {
		if wanted(r) {
			cmd.Flags().Var(limitValue{r, f.limits}, string(r), r.Info().Help)
			cmd.RegisterFlagCompletionFunc(string(r), cobra.NoFileCompletions)
		}
	}
	cmd.Flags().Var(&f.effort, "limits", "strict: a limit that this host cannot enforce is refused (if nothing is said); best-effort: it is accepted, and reported as such")
	cmd.Flags().Var(&f.priority, "priority", "who comes first where the host is full: low, normal (if nothing is said) or high")
	cmd.RegisterFlagCompletionFunc("limits", cobra.FixedCompletions([]string{"strict", "best-effort"}, noFiles))
	cmd.RegisterFlagCompletionFunc("priority", cobra.FixedCompletions([]string{"low", "normal", "high"}, noFiles))
}

// addWait is for verbs that may have to wait for the host.
func (f *limitFlags) addWait(cmd *cobra.Command) {
	cmd.Flags().Var(&f.wait, "wait", "how long to wait for a place where the host is full; 0 is not at all (default: the daemon's own patience)")
	cmd.RegisterFlagCompletionFunc("wait", cobra.NoFileCompletions)
}

// wish is what was asked for. The ticket is to find the place in the queue by.
func (f *limitFlags) wish() forkbox.Wish {
	w := f.manner()
	if len(f.limits) > 0 {
		w.Limits = f.limits
	}
	return w
}

// manner is a wish for no limits, but for how they are to be held, and waited
// for.
func (f *limitFlags) manner() forkbox.Wish {
	w := forkbox.Wish{BestEffort: f.effort == "best-effort", Priority: forkbox.Priority(f.priority), Ticket: rand.Text()}
	if f.wait.set {
		w.Wait = &f.wait.span
	}
	return w
}
