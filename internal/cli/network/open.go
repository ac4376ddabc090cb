package network

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func OpenVerb(a *app.App) *cobra.Command {
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
		Args:              app.Exactly(2, "a box and a port: forkbox open BOX PORT"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			port, err := flags.ParsePort(args[1])
			if err != nil {
				return err
			}
			return open(cmd.Context(), a, args[0], port, !noBrowser)
		},
	}
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "only print the URL")
	return cmd
}

func open(ctx context.Context, a *app.App, ref string, port int, browse bool) error {
	c := a.Client()
	url, err := c.OpenPort(ctx, ref, port)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(api.OpenResult{URL: url})
	}
	tellAway(a, c)
	if _, err := fmt.Fprintln(a.Stdout, url); err != nil || !browse || a.Away() {
		return err
	}
	return openBrowser(a, url)
}

// openBrowser opens a browser where the user sits at a desktop. Elsewhere the URL
// that was printed has to do.
func openBrowser(a *app.App, url string) error {
	desktop := os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
	program, err := exec.LookPath("xdg-open")
	if !desktop || err != nil || !terminal.IsTerminal(a.Stdout) {
		return nil
	}
	return forkbox.Wrap("open a browser", exec.Command(program, url).Start())
}
