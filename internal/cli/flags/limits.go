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

// limitHelp is what each limit is, for people.
var limitHelp = [...]struct {
	resource forkbox.Resource
	value    string
	help     string
}{
	{forkbox.CPUs, "n", "processors, also a part of one: 1.5"},
	{forkbox.Memory, "size", "memory, with page cache and tmpfs: 2g"},
	{forkbox.Swap, "size", "swap beyond the memory; 0 is none at all"},
	{forkbox.Pids, "n", "processes and threads: 512"},
	{forkbox.Disk, "size", "disk that the box writes: 5g"},
	{forkbox.Inodes, "n", "files that it makes: 100k"},
	{forkbox.ReadBytes, "size", "bytes read from disks per second: 50m"},
	{forkbox.WriteBytes, "size", "bytes written to disks per second"},
	{forkbox.ReadOps, "n", "reads from disks per second"},
	{forkbox.WriteOps, "n", "writes to disks per second"},
	{forkbox.Files, "n", "open files of one process: 1024"},
	{forkbox.Kept, "size", "output kept of one command: 10m"},
	{forkbox.Bandwidth, "size", "bytes per second through the box's gate, each way: 10m"},
	{forkbox.Connections, "n", "connections through it that are open at once: 256"},
	{forkbox.Timeout, "time", "how long one command of it may run, if it says nothing else: 10m"},
	{forkbox.TTL, "time", "how long the box lives; then it stops, and keeps its changes: 2h"},
	{forkbox.Idle, "time", "stop the box when nothing was run in it for so long: 15m"},
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
	for _, l := range limitHelp {
		if wanted(l.resource) {
			cmd.Flags().Var(LimitValue{l.resource, f.Limits, l.value}, string(l.resource), l.help)
			cmd.RegisterFlagCompletionFunc(string(l.resource), cobra.NoFileCompletions)
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
