package cli

import (
	"strings"

	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/daemon"
	"github.com/spf13/cobra"
)

func serveVerb(a *app.App) *cobra.Command {
	d := &daemon.Daemon{Version: a.Version(), Home: client.DefaultHome(), Socket: client.DefaultSocket(), Flags: map[string]string{}}
	cmd := &cobra.Command{
		Use:   "serve [--listen ADDRESS:PORT…] [--idle D]",
		Short: "Run the daemon in the foreground",
		Long: `Run the daemon in the foreground. There is seldom a need to: the other verbs start
one when none runs, and that one ends by itself when it has been idle for --idle.
One started by hand ends for being idle only when --idle is given.

The daemon's state is in FORKBOX_HOME, by default /var/lib/forkbox for root and
$XDG_STATE_HOME/forkbox otherwise. It listens on FORKBOX_SOCKET, by default
forkbox.sock in there. What it goes by is in config.yaml: forkbox config show
says what that comes to, and SIGHUP has it read again. FORKBOX_LOG is how much is
logged: debug, info, warn or error. The log is text on a terminal and JSON
otherwise, and with --json; --log-format says which.

With --listen it can be reached from elsewhere too, by HTTPS: who comes that way
shows a token (see: forkbox token). Without a certificate of yours it makes its
own, and says the fingerprint that clients pin; see: forkbox listeners. HTTP
without TLS, http://127.0.0.1:PORT, is for loopback addresses only. A daemon that
listens so does not end for being idle.

Boxes and their commands outlive the daemon; the next one finds them.`,
		Example: `  forkbox serve
  forkbox serve --listen 127.0.0.1:7171
  forkbox serve --listen 0.0.0.0:7171 --listen http://127.0.0.1:7172
  FORKBOX_LOG=debug forkbox serve --idle 10m`,
		Args: app.Alone(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if idle := cmd.Flags().Lookup("idle"); idle.Changed {
				d.Flags["serve.idle"] = idle.Value.String()
			}
			if at, err := cmd.Flags().GetStringArray("listen"); err == nil && len(at) > 0 {
				d.Flags["serve.listen"] = strings.Join(at, ",")
			}
			if format := cmd.Flags().Lookup("log-format"); format.Changed {
				d.Flags["log.format"] = format.Value.String()
			}
			d.Stderr, d.Text = a.Stderr, terminal.IsTerminal(a.Stderr) && !a.JSON
			return d.Run(cmd.Context())
		},
	}
	cmd.Flags().Duration("idle", 0, "end after this time with nothing to do")
	cmd.Flags().StringArray("listen", nil, "listen at this `address` as well, 127.0.0.1:7171 for example (repeatable)")
	cmd.RegisterFlagCompletionFunc("listen", cobra.NoFileCompletions)
	cmd.Flags().String("log-format", "", "how to log: `text or json`")
	cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&d.OnDemand, "on-demand", false, "started by another verb")
	cmd.Flags().MarkHidden("on-demand")
	return cmd
}
