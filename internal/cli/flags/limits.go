package flags

import (
	"crypto/rand"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
)

// Limits are those of the verbs that limit what a box or a command uses.
type Limits struct {
	Limits   forkbox.Limits
	Effort   limitEffort
	priority limitPriority
	wait     LimitWait
}

// AddForBox adds what a box can be limited in.
func (f *Limits) AddForBox(cmd *cobra.Command) {
	f.add(cmd, func(forkbox.Resource) bool { return true })
}

// AddForRun is addForBox where --timeout is the command's own.
func (f *Limits) AddForRun(cmd *cobra.Command) {
	f.add(cmd, func(r forkbox.Resource) bool { return r != forkbox.Timeout })
}

// AddForExec adds what one command can be limited in, but for its timeout,
// which is a flag of its own.
func (f *Limits) AddForExec(cmd *cobra.Command) {
	f.add(cmd, func(r forkbox.Resource) bool { return r.PerExec() && r != forkbox.Timeout })
}

func (f *Limits) add(cmd *cobra.Command, wanted func(forkbox.Resource) bool) {
	f.Limits = forkbox.Limits{}
	for _, r := range forkbox.Resources {
		if wanted(r) {
			cmd.Flags().Var(LimitValue{r, f.Limits}, string(r), r.Info().Help)
			cmd.RegisterFlagCompletionFunc(string(r), cobra.NoFileCompletions)
		}
	}
	cmd.Flags().Var(&f.Effort, "limits", "strict: a limit that this host cannot enforce is refused (if nothing is said); best-effort: it is accepted, and reported as such")
	cmd.Flags().Var(&f.priority, "priority", "who comes first where the host is full: low, normal (if nothing is said) or high")
	cmd.RegisterFlagCompletionFunc("limits", cobra.FixedCompletions([]string{"strict", "best-effort"}, app.NoFiles))
	cmd.RegisterFlagCompletionFunc("priority", cobra.FixedCompletions([]string{"low", "normal", "high"}, app.NoFiles))
}

// AddWait is for verbs that may have to wait for the host.
func (f *Limits) AddWait(cmd *cobra.Command) {
	cmd.Flags().Var(&f.wait, "wait", "how long to wait for a place where the host is full; 0 is not at all (default: the daemon's own patience)")
	cmd.RegisterFlagCompletionFunc("wait", cobra.NoFileCompletions)
}

// Wish is what was asked for. The ticket is to find the place in the queue by.
func (f *Limits) Wish() forkbox.Wish {
	w := f.Manner()
	if len(f.Limits) > 0 {
		w.Limits = f.Limits
	}
	return w
}

// Manner is a wish for no limits, but for how they are to be held, and waited
// for.
func (f *Limits) Manner() forkbox.Wish {
	w := forkbox.Wish{BestEffort: f.Effort == "best-effort", Priority: forkbox.Priority(f.priority), Ticket: rand.Text()}
	if f.wait.Given {
		w.Wait = &f.wait.Span
	}
	return w
}
