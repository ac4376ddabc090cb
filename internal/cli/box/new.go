// Package box has the verbs that make, show, start, stop and remove boxes.
package box

import (
	"context"
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/spf13/cobra"
)

func NewVerb(a *app.App) *cobra.Command {
	var asked flags.Box
	cmd := &cobra.Command{
		Use:   "new [--name N] [--from FROM|--template T] [--net none|policy|host|team:NAME] [network] [--allow-secrets X]… [limits]",
		Short: "Make a box: a clone of this machine to work in",
		Long: `Make a box and print its name. It is a clone of this machine as it is now, in the
current directory and with the current environment. Nothing runs in it yet, and
it costs nothing but what will change in it.

With --from it is made of something else: BOX@SNAPSHOT (BOX@ is its last one); an
OCI image, oci:LAYOUT, which is a directory or a tar; a root filesystem, tar:FILE;
a directory, dir:DIR; or empty. - for a file is stdin. Such a box has a directory
and an environment of its own. So has one that is made from a --template.

Limits are those of the flags, else of the forkbox.yaml of the project around the
current directory, else the daemon's own; forkbox show says which hold and where
each came from. One that this host cannot enforce is refused, unless with
--limits best-effort. Where the host is full the box waits for its place: --wait.

It has a network of its own. With --net policy, which it has if nothing is said, it
reaches what --allow and --deny say, then what the project's forkbox.yaml says, then
the preset; forkbox help net says what rules look like. The preset balanced is what
this machine's tools are themselves configured to use, and model APIs. Boxes of one
team (--net team:NAME) reach each other by name. With --net host it shares the host's.`,
		Example: `  forkbox new --name try
  box=$(forkbox new --net none)
  forkbox new --net-preset locked --allow git.example.com:443 --host-port 5432
  forkbox new --from try@green
  forkbox new --from oci:image.tar --name alpine
  zstd -dc root.tar.zst | forkbox new --from tar:-
  forkbox new --template deps
  forkbox new --memory 2g --cpus 1.5 --pids 512 --ttl 2h`,
		Args:              app.Alone("a name is given with: forkbox new --name %s"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.Client()
			defer c.Close()
			req, err := asked.Request(cmd.Context(), a, c)
			if err != nil {
				return err
			}
			asked.Warn(a)
			var box forkbox.Box
			err = a.InLine(cmd.Context(), "making a box", req.Wish.Ticket, func(ctx context.Context) error {
				box, err = c.Create(ctx, req)
				return err
			})
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(box)
			}
			flags.TellNote(a, req.Net, box)
			_, err = fmt.Fprintln(a.Stdout, box.Name)
			return err
		},
	}
	asked.Add(a, cmd)
	asked.Limits.AddForBox(cmd)
	return cmd
}
