package cli

import (
	"os"
	"time"

	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/daemon"
	"github.com/spf13/cobra"
)

func serveVerb(a *app.App) *cobra.Command {
	d := &daemon.Daemon{Version: a.Version(), Home: client.DefaultHome(), Socket: client.DefaultSocket()}
	cmd := &cobra.Command{
		Use:   "serve [--idle D]",
		Short: "Run the daemon in the foreground",
		Long: `Run the daemon in the foreground. There is seldom a need to: the other verbs start
one when none runs, and that one ends by itself when it has been idle for --idle.
One started by hand ends for being idle only when --idle is given.

The daemon's state is in FORKBOX_HOME, by default /var/lib/forkbox for root and
$XDG_STATE_HOME/forkbox otherwise. It listens on FORKBOX_SOCKET, by default
forkbox.sock in there. FORKBOX_IDLE is the default of --idle. FORKBOX_LOG is how
much is logged: debug, info, warn or error. The log is text on a terminal and
JSON otherwise, and with --json.

Boxes and their commands outlive the daemon; the next one finds them.`,
		Example: `  forkbox serve
  FORKBOX_LOG=debug forkbox serve --idle 10m`,
		Args: app.Alone(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !d.OnDemand && !cmd.Flags().Changed("idle") {
				d.Idle = 0
			}
			d.Stderr, d.Text = a.Stderr, terminal.IsTerminal(a.Stderr) && !a.JSON
			return d.Run(cmd.Context())
		},
	}
	cmd.Flags().DurationVar(&d.Idle, "idle", defaultIdle(), "end after this time with nothing to do")
	cmd.Flags().BoolVar(&d.OnDemand, "on-demand", false, "started by another verb")
	cmd.Flags().MarkHidden("on-demand")
	return cmd
}

func defaultIdle() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("FORKBOX_IDLE")); err == nil && d > 0 {
		return d
	}
	return 5 * time.Minute
}
