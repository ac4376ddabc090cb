package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) openVerb() *cobra.Command {
	var noBrowser bool
	cmd := &cobra.Command{
		Use:   "open [--no-browser] BOX PORT",
		Short: "Open a web server of a box in a browser",
		Long: `Print the URL under which browsers on this machine reach a port of a box, and open
it in one where this is a terminal of a desktop. Each box and port has a URL of its
own, so that the same server in several boxes can be looked at side by side. It
needs no port of this machine.`,
		Example: `  forkbox open try 3000
  curl "$(forkbox open --no-browser try 3000)"`,
		Args:              exactly(2, "a box and a port: forkbox open BOX PORT"),
		ValidArgsFunction: a.completeBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			port, err := parsePort(args[1])
			if err != nil {
				return err
			}
			return a.open(cmd.Context(), args[0], port, !noBrowser)
		},
	}
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "only print the URL")
	return cmd
}

func (a *app) open(ctx context.Context, ref string, port int, browse bool) error {
	url, err := a.client().OpenPort(ctx, ref, port)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(client.OpenResult{URL: url})
	}
	if _, err := fmt.Fprintln(a.stdout, url); err != nil || !browse {
		return err
	}
	return a.openBrowser(url)
}

// openBrowser opens a browser where somebody sits at a desktop. Elsewhere the URL
// that was printed has to do.
func (a *app) openBrowser(url string) error {
	desktop := os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
	program, err := exec.LookPath("xdg-open")
	if !desktop || err != nil || !isTerminal(a.stdout) {
		return nil
	}
	return forkbox.Wrap("open a browser", exec.Command(program, url).Start())
}
