package exec

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/stdio"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func AttachVerb(a *app.App) *cobra.Command {
	r := &reattachment{App: a}
	cmd := &cobra.Command{
		Use:   "attach [--all] [--no-stdin] BOX [EXEC]",
		Short: "Join a command that runs in the background",
		Long: `Join a command that was started with exec -d: what it writes from now on is shown,
with --all also what it wrote before. Without EXEC it is the latest that runs.
Stdin is passed on if the command has a terminal or was started with -i or --open.

Ctrl-C goes to the command. On a terminal ctrl-P ctrl-Q leaves it running, and so
does the end of attach by a signal. The exit code is the command's own, 0 when it
was left running.

With --json the exec is on stdout when it has ended, and what it writes goes to
stderr.`,
		Example: `  forkbox attach try
  forkbox attach --all try 3
  echo quit | forkbox attach try 3`,
		Args:              app.Between(1, 2, "a box: forkbox attach BOX [EXEC]"),
		ValidArgsFunction: a.CompleteBoxThenExec,
		RunE:              func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&r.all, "all", false, "show what it wrote before as well")
	cmd.Flags().BoolVar(&r.noStdin, "no-stdin", false, "pass nothing on to it")
	return cmd
}

// reattachment is a caller who joins a command that runs already.
type reattachment struct {
	*app.App
	all, noStdin bool
	client       *client.Client
}

func (r *reattachment) run(ctx context.Context, args []string) error {
	r.client = r.App.Client()
	defer r.client.Close()
	exec, err := r.find(ctx, args)
	if err != nil {
		return err
	}
	if exec.Exit != nil {
		return r.tooLate(ctx, args[0], exec)
	}
	exec, left, err := r.join(ctx, exec)
	switch {
	case err != nil:
		return err
	case left:
		r.Say("left exec %s of %s running. Join it again: forkbox attach %s %s", exec.ID, args[0], args[0], exec.ID)
		return nil
	}
	return r.ended(exec)
}

func (r *reattachment) ended(exec forkbox.Exec) error {
	explainExit(r.App, exec)
	if r.JSON {
		if err := r.PrintJSON(exec); err != nil {
			return err
		}
	}
	return exitOf(exec)
}

func (r *reattachment) find(ctx context.Context, args []string) (forkbox.Exec, error) {
	if len(args) == 2 {
		return r.client.GetExec(ctx, args[0], args[1])
	}
	execs, err := r.client.Execs(ctx, args[0])
	if err != nil {
		return forkbox.Exec{}, err
	}
	for _, e := range slices.Backward(execs) {
		if e.Exit == nil && e.Detached {
			return e, nil
		}
	}
	return forkbox.Exec{}, forkbox.Errorf(forkbox.NotFound, "attach", "nothing runs in the background of box %s", args[0]).
		Hint("start something: forkbox exec -d %s -- CMD…", args[0]).
		Hint("what ran before: forkbox execs %s", args[0])
}

// tooLate is for a command that has ended: what it wrote is still there.
func (r *reattachment) tooLate(ctx context.Context, box string, exec forkbox.Exec) error {
	if !r.all {
		return forkbox.Errorf(forkbox.Busy, "attach to exec "+exec.ID, "it has ended: %s", describe.Exit(describe.ExecExit(exec))).
			Hint("what it wrote: forkbox logs %s %s", box, exec.ID)
	}
	if err := r.follow(ctx, exec); err != nil {
		return err
	}
	return r.ended(exec)
}

// follow shows the whole of what an exec wrote, to its end.
func (r *reattachment) follow(ctx context.Context, exec forkbox.Exec) error {
	return r.client.Logs(ctx, exec.Box, exec.ID, true, func(record forkbox.LogRecord) error {
		if r.JSON {
			record.Stream = "stderr" // stdout is for the document
		}
		return writeRecord(r.App, record)
	})
}

// join stays until the command has ended or is left alone.
func (r *reattachment) join(ctx context.Context, exec forkbox.Exec) (_ forkbox.Exec, left bool, err error) {
	early, signals := stdio.CatchSignals(ctx)
	defer signals.Release()
	stay, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	in, out := r.files()
	ours, err := stdio.Open(in, out, nil)
	if err != nil {
		return exec, false, forkbox.Wrap("set up stdio", err)
	}
	defer ours.Close()
	ours.KeepPipes()
	ours.OnDetach(leave)
	theirs := ours.Box
	theirs.Last = in != nil && !terminal.IsTerminal(in) // who types can come again
	session, err := r.client.AttachExec(early, exec.Box, exec.ID, theirs)
	if err != nil {
		return exec, false, signals.OrError(err)
	}
	defer session.Close()
	size := func() forkbox.Size { return terminal.WindowSize(os.Stdout) }
	switch {
	case in == nil || !terminal.IsTerminal(in):
	case exec.TTY:
		if terminal.IsTerminal(os.Stdout) {
			session.Resize(stay, size())
		}
		defer ours.HandKeys(in, session, signals, size)()
	default:
		defer stdio.DetachableLines(in)()
	}
	ours.Relay()
	signals.LeaveOn(leave)
	signals.Forward(session, size, exec.TTY)
	shown := r.showAll(stay, exec)
	now, err := session.Wait(stay)
	if errors.Is(err, context.Canceled) {
		ours.Finish()
		return exec, true, nil
	}
	<-shown
	ours.Finish()
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
	case r.JSON:
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
			r.Say("warning: %v", err)
		}
	}()
	return ended
}
