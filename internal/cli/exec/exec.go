package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/stdio"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func ExecVerb(a *app.App) *cobra.Command {
	e := &execer{App: a}
	cmd := &cobra.Command{
		Use:   "exec [-i] [-t] [-d] [-e K=V] [-w DIR] [-u USER] [--timeout D] [limits] BOX -- CMD…",
		Short: "Run a command in a box",
		Long: `Run a command in a box, with the caller's working directory and environment. A box
at rest wakes for it. Stdin is empty unless -i is given. The exit code is the
command's own.

With -t the command has a terminal. With -d nobody waits for it: the exec's id is
printed, and its output is in: forkbox logs BOX EXEC. forkbox execs lists it,
forkbox attach joins it, and it ends when the box stops. With -d and -i it reads
what stdin has; where stdin is a terminal, and with --open, its stdin stays open
for forkbox attach.

Limits are the command's own, within those of its box: what it starts counts too.

With --json the exec is on stdout when it has ended, and the command's own stdout
goes to stderr.`,
		Example: `  forkbox exec try -- make test
  forkbox exec -it try -- python3
  echo hello | forkbox exec -i try -- cat
  forkbox exec -d try -- ./server --port 8000
  forkbox exec --memory 512m --cpus 0.5 --timeout 5m try -- make test`,
		Args:              app.Needs(1, "a box and a command: forkbox exec BOX -- CMD…"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return e.parse(cmd, args) },
	}
	e.flags.add(cmd)
	e.flags.addLimits(cmd)
	cmd.Flags().StringVarP(&e.flags.user, "user", "u", "", "run as this `user` of the box")
	cmd.Flags().BoolVarP(&e.stdin, "interactive", "i", false, "pass stdin on")
	cmd.Flags().BoolVarP(&e.tty, "tty", "t", false, "give the command a terminal")
	cmd.Flags().BoolVarP(&e.detach, "detach", "d", false, "start it and return")
	cmd.Flags().BoolVar(&e.open, "open", false, "with -d: keep its stdin open for forkbox attach")
	return cmd
}

type execer struct {
	*app.App
	flags                    execFlags
	stdin, tty, detach, open bool
}

// parse allows flags before and after BOX, and needs no -- before CMD.
func (e *execer) parse(cmd *cobra.Command, args []string) error {
	box := args[0]
	if err := cmd.Flags().Parse(args[1:]); err != nil {
		return err
	}
	argv := cmd.Flags().Args()
	if len(argv) == 0 {
		return fmt.Errorf("exec needs a command: forkbox exec %s -- CMD…", box)
	}
	req, err := e.flags.request(e.App, argv)
	if err != nil {
		return err
	}
	if e.open && !e.detach {
		return errors.New("--open is for a command that is started with -d")
	}
	if e.detach {
		return e.start(cmd.Context(), box, req)
	}
	return e.run(cmd.Context(), box, req)
}

func (e *execer) start(ctx context.Context, box string, req api.ExecRequest) (err error) {
	if err := e.detachedStdin(&req); err != nil {
		return err
	}
	req.TTY, req.OnDisconnect = e.tty, api.KeepOnDisconnect
	var exec forkbox.Exec
	err = e.InLine(ctx, "starting "+req.Argv[0], req.Wish.Ticket, func(ctx context.Context) error {
		exec, err = e.Client().ExecDetached(ctx, box, req)
		return err
	})
	if err != nil {
		return err
	}
	if e.JSON {
		return e.PrintJSON(exec)
	}
	_, err = fmt.Fprintln(e.Stdout, exec.ID)
	return err
}

// detachedStdin is what a command reads that the caller does not wait for: all
// that is there, or what a user types who attaches to it later.
func (e *execer) detachedStdin(req *api.ExecRequest) (err error) {
	if e.open || e.stdin && terminal.IsTerminal(os.Stdin) {
		req.Open = true
		return nil
	}
	if !e.stdin {
		return nil
	}
	if req.Stdin, err = io.ReadAll(io.LimitReader(os.Stdin, 4<<20+1)); err != nil {
		return err
	}
	if len(req.Stdin) > 4<<20 {
		return errors.New("with -d stdin may be 4 MiB at most")
	}
	return nil
}

func (e *execer) run(ctx context.Context, box string, req api.ExecRequest) error {
	mode := ttyNever
	if e.tty {
		mode = ttyAlways
	}
	return attach(ctx, e.App, box, req, e.stdin, mode)
}

// attach runs a command in a box that is there already, to its end.
func attach(ctx context.Context, a *app.App, box string, req api.ExecRequest, stdin bool, mode ttyMode) error {
	early, signals := stdio.CatchSignals(ctx)
	defer signals.Release()
	c := a.Client()
	defer c.Close()
	at := &attachment{App: a, client: c, box: box, stdin: stdin, tty: mode}
	exec, err := at.run(early, signals, req)
	if err != nil {
		return signals.OrError(err)
	}
	explainExit(a, exec)
	tellExecNote(a, exec)
	if a.JSON {
		if err := a.PrintJSON(exec); err != nil {
			return err
		}
	}
	return exitOf(exec)
}

func ShellVerb(a *app.App) *cobra.Command {
	var flags execFlags
	cmd := &cobra.Command{
		Use:   "shell [-e K=V] [-w DIR] [-u USER] [limits] BOX",
		Short: "Open a shell in a box",
		Long: `Open your shell ($SHELL) in a box, in the current directory. A box at rest wakes
for it. When the shell ends, what it left running goes on; the box goes to rest
when nothing runs in it.

With --json the exec is on stdout when the shell has ended, and the shell's own
output goes to stderr.`,
		Example:           "  forkbox shell try\n  forkbox shell -u root try",
		Args:              app.Exactly(1, "a box: forkbox shell BOX"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := flags.request(a, []string{callersShell()})
			if err != nil {
				return err
			}
			return attach(cmd.Context(), a, args[0], req, true, ttyAuto)
		},
	}
	flags.add(cmd)
	flags.addLimits(cmd)
	cmd.Flags().SetInterspersed(true) // there is no command whose flags these could be
	cmd.Flags().StringVarP(&flags.user, "user", "u", "", "run as this `user` of the box")
	return cmd
}

func callersShell() string {
	if shell := os.Getenv("SHELL"); shell != "" {
		return shell
	}
	return "/bin/sh"
}
