package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/flags"
)

func PortVerb(a *app.App) *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use:   "port BOX [PORT[:HOSTPORT]] | port --rm BOX PORT[:HOSTPORT]",
		Short: "Publish a port of a box on this machine",
		Long: `Publish a port of a box on the loopback of this machine while the box runs, and
print the address. Without HOSTPORT it is the same number where that is free, and
any other that is free where not. What is published stays so over a stop and a
start. With --rm it is not published any more. Without PORT those that are published
are listed.

For a browser there is forkbox open, which needs no port of this machine.

Of a daemon on another machine (--host) it is that machine's loopback.`,
		Example: `  forkbox port try 3000
  forkbox port try 3000:8080
  forkbox port try
  forkbox port --rm try 3000`,
		Args:              app.Between(1, 2, "a box, and a port to publish it: forkbox port BOX PORT[:HOSTPORT]"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if remove {
					return errors.New("--rm needs a port: forkbox port --rm BOX PORT")
				}
				return listPorts(cmd.Context(), a, args[0])
			}
			port, err := parsePublished(args[1])
			switch {
			case err != nil:
				return err
			case remove:
				return unpublish(cmd.Context(), a, args[0], port)
			}
			return publish(cmd.Context(), a, args[0], port)
		},
	}
	cmd.Flags().BoolVar(&remove, "rm", false, "do not publish it any more")
	return cmd
}

// parsePublished reads PORT[:HOSTPORT].
func parsePublished(text string) (port forkbox.Port, err error) {
	box, host, both := strings.Cut(text, ":")
	if port.Box, err = flags.ParsePort(box); err == nil && both {
		port.Host, err = flags.ParsePort(host)
	}
	return port, err
}

func listPorts(ctx context.Context, a *app.App, ref string) error {
	ports, err := a.Client().Ports(ctx, ref)
	if err != nil {
		return err
	}
	return a.List(api.PortList{Ports: ports}, len(ports), fmt.Sprintf("no port of %s is published: forkbox port %s PORT", ref, ref), "PORT\tADDRESS", func(w io.Writer) {
		for _, p := range ports {
			fmt.Fprintf(w, "%d\t%s\n", p.Box, describe.PublishedAt(p))
		}
	})
}

func publish(ctx context.Context, a *app.App, ref string, port forkbox.Port) error {
	c := a.Client()
	defer c.Close()
	made, err := c.Publish(ctx, ref, port)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(made)
	}
	if doc, err := c.Net(ctx, ref); err == nil && doc.State != forkbox.Running {
		a.Say("note: %s is at rest; the port answers when it runs, if nobody else has taken it by then", doc.Name)
	}
	tellAway(a, c)
	_, err = fmt.Fprintln(a.Stdout, describe.PublishedAt(made))
	return err
}

// tellAway says of a loopback address which machine's it is, where it is not the
// caller's.
func tellAway(a *app.App, c *client.Client) {
	if a.Away() {
		a.Say("note: that is on the loopback of the machine of %s, and nothing of this one", c.Host())
	}
}

func unpublish(ctx context.Context, a *app.App, ref string, port forkbox.Port) error {
	c := a.Client()
	defer c.Close()
	if err := c.Unpublish(ctx, ref, port); err != nil || !a.JSON {
		return err
	}
	ports, err := c.Ports(ctx, ref)
	if err != nil {
		return err
	}
	return a.PrintJSON(api.PortList{Ports: ports})
}
