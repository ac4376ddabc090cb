// Package exec has the verbs that run commands in boxes, and that look after
// those that run.
package exec

import (
	"context"
	"errors"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/forkbox/forkbox/internal/cli/stdio"
	"github.com/spf13/cobra"
)

// RunVerb is fork, exec, look, decide.
func RunVerb(a *app.App) *cobra.Command {
	r := &runner{App: a}
	cmd := &cobra.Command{
		Use:   "run [--apply] [--keep|--discard] [--name N] [--from FROM|--template T] [--net none|policy|host|team:NAME] [network] [limits] [flags] -- CMD…",
		Short: "Run a command on a clone of this machine and see what it changed",
		Long: `Run a command on a clone of this machine. Reality stays as it is. Afterwards a
summary of what changed is on stderr, every deletion included, and on a terminal
you are asked whether to apply the changes, or to keep or discard the box.
Without a terminal it is kept; a box in which nothing changed is discarded, unless
you gave it a name. Either way nothing runs in it any more.

With --apply the workspace (the git work tree, or the current directory) lands
when the command succeeded; forkbox undo takes it back. What deserves a second
look is asked about at a terminal, and refused without one: then the box is kept
and the exit code is 125. So is a box with changes that did not land.

run behaves like env or nice: stdin, stdout, stderr, signals, working directory
and environment are those of the command, and its exit code is passed on. 125 is
a failure of forkbox itself, 126 a command that cannot be executed, 127 one that
is not there, 124 a timeout, 128+n a death by signal n.

With --from or --template the box is made of something else than this machine, as
forkbox new does it. The command then runs in that box's own directory, with its
own environment.

Limits hold for the box, as with forkbox new; --timeout is the command's. What
ended the command, where that was a limit, is on stderr in one line. What it may
reach is as with forkbox new, too; connections that were refused are in the summary,
with the flags that would allow them.

With --json the document, with box, exec and summary, is on stdout when the
command has ended, and the command's own stdout goes to stderr. There is no
question then.`,
		Example: `  forkbox run -- npm update
  forkbox run --apply -- npm run format
  forkbox run --discard -- rm -rf /etc
  git ls-files | forkbox run --keep --name tidy -- xargs gofmt -w
  forkbox run --allow api.example.com:443 --timeout 5m -- ./sync.sh
  forkbox run --net none -- make test
  forkbox run --from try@green -- make test
  forkbox run --memory 2g --pids 512 --timeout 10m -- make -j`,
		Args: app.Needs(1, "a command: forkbox run -- CMD…"),
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	r.box.Add(a, cmd)
	r.box.Limits.AddForRun(cmd)
	r.exec.add(cmd)
	cmd.Flags().BoolVar(&r.apply, "apply", false, "land the workspace if the command succeeds")
	cmd.Flags().BoolVar(&r.keep, "keep", false, "keep the box, do not ask")
	cmd.Flags().BoolVar(&r.discard, "discard", false, "discard the box, do not ask")
	cmd.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "no summary")
	return cmd
}

type runner struct {
	*app.App
	box  flags.Box
	exec execFlags

	apply, keep, discard, quiet bool
	asked, interrupted          bool // at the question
}

// runResult is the document of run --json.
type runResult struct {
	Box     forkbox.Box      `json:"box"`
	Exec    forkbox.Exec     `json:"exec"`
	Summary forkbox.Summary  `json:"summary"`
	Receipt *forkbox.Receipt `json:"receipt,omitempty"`
	Refused []forkbox.Conn   `json:"refused,omitempty"` // what it tried to reach
	Kept    bool             `json:"kept"`
}

func (r *runner) run(ctx context.Context, argv []string) error {
	if r.keep && r.discard {
		return errors.New("--keep and --discard exclude each other")
	}
	if err := r.box.Net.Check(); err != nil {
		return err
	}
	req, err := r.exec.request(r.App, argv)
	if err != nil {
		return err
	}
	req.Env = nil // the box was made with it a moment ago
	if r.box.OwnPlace() && r.exec.dir == "" {
		req.Dir, req.Here = "", false
	}
	if r.exec.dir != "" {
		r.box.Instead = req.Dir
	}
	req.Stop = true
	req.Wish = r.exec.timed(r.box.Limits.Manner())
	c := r.Client()
	defer c.Close()
	early, signals := stdio.CatchSignals(ctx)
	defer signals.Release()
	if err := c.Reach(early); err != nil {
		return signals.OrError(err)
	}
	create, err := r.box.Request(early, r.App, c)
	if err != nil {
		return signals.OrError(err)
	}
	create.Passing = r.discard && !r.apply
	r.box.Warn(r.App)
	at := &attachment{App: r.App, client: c, create: &create, stdin: true, tty: ttyAuto}
	at.begun = func() {
		if !r.quiet {
			flags.TellNote(r.App, create.Net, at.made)
		}
	}
	at.after = func() { r.rest(ctx, c, at.made) }
	exec, err := at.run(early, signals, req)
	if err != nil {
		r.abort(ctx, c, at.made)
		return signals.OrError(err)
	}
	return r.conclude(ctx, c, signals, runResult{Box: at.made, Exec: exec})
}

// rest kills whatever the command left running. There is no grace: the command
// has ended, and a shell would not have waited either.
func (r *runner) rest(ctx context.Context, c *client.Client, box forkbox.Box) {
	now := time.Duration(0)
	if _, err := c.Stop(ctx, box.ID, &now); err != nil {
		r.Say("warning: %v", err)
	}
}

// abort removes a box in which nothing ran.
func (r *runner) abort(ctx context.Context, c *client.Client, box forkbox.Box) {
	switch {
	case box.ID == "":
		return
	case r.keep:
		r.rest(ctx, c, box)
		return
	}
	if err := c.Remove(ctx, box.ID, true); err != nil {
		r.Say("warning: %v", err)
	}
}
