package snapshot

import (
	"context"
	"errors"
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func ImportVerb(a *app.App) *cobra.Command {
	var net flags.Net
	var limits flags.Limits
	var name string
	cmd := &cobra.Command{
		Use:   "import [--name N] [--net none|policy|host|team:NAME] [network] [limits] FILE|- [NAME]",
		Short: "Make a box of a file that export wrote",
		Long: `Make a box of what forkbox export wrote, here or on another machine, and print its
name. FILE may be any other OCI image, too: in a tar, or the directory of a
layout. - is stdin.

Changes that were made on another machine are taken as they are. How this one
differs from it, in its packages for instance, is on stderr.`,
		Example: `  forkbox import try.tar
  forkbox import try.tar again
  forkbox import --memory 2g --ttl 1h try.tar
  ssh elsewhere forkbox export try | forkbox import -`,
		Args:              app.Between(1, 2, "a file: forkbox import FILE [NAME]"),
		ValidArgsFunction: app.CompleteOneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && name != "" {
				return errors.New("the box's name is given twice: with --name, and after FILE")
			}
			req, err := importRequest(append(args, name)[1], net, limits)
			if err != nil {
				return err
			}
			net.Warn(a)
			return importFile(cmd.Context(), a, args[0], req)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the box, as after FILE")
	net.Add(a, cmd, "if nothing is said: policy")
	limits.AddForBox(cmd)
	limits.AddWait(cmd)
	return cmd
}

// importRequest is the box to make of an archive. A project's file is about this
// machine's work, not about what comes from elsewhere.
func importRequest(name string, net flags.Net, limits flags.Limits) (req client.ImportRequest, err error) {
	word, wish, err := net.Request(false, false)
	req.ImportSpec = forkbox.ImportSpec{Name: name, Net: forkbox.Net(word)}
	req.Wish, req.NetWish = limits.Wish(), wish
	return req, err
}

func importFile(ctx context.Context, a *app.App, file string, req client.ImportRequest) error {
	in, err := flags.OpenArchive(file, true)
	if err != nil {
		return err
	}
	defer in.Close()
	c := a.Client()
	defer c.Close()
	return importFrom(ctx, a, c, in, req)
}

func importFrom(ctx context.Context, a *app.App, c *client.Client, in *flags.Archive, req client.ImportRequest) error {
	moved := &terminal.Flow{What: "importing " + terminal.Printable(in.Name), Total: in.Size}
	var done forkbox.Import
	err := a.Tidily(ctx, moved.Text, func(ctx context.Context) (err error) {
		done, err = c.ImportWith(ctx, moved.Reader(in), req)
		return err
	})
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(done)
	}
	tellDifferences(a, done.Differences)
	flags.TellNote(a, string(req.Net), done.Box)
	_, err = fmt.Fprintln(a.Stdout, done.Box.Name)
	return err
}

// shownDifferences is how many fit on a screen; --json has them all.
const shownDifferences = 10

func tellDifferences(a *app.App, list []forkbox.Difference) {
	if len(list) == 0 {
		return
	}
	a.Say("%s this machine is not the one that it was made on:", a.Paint(terminal.Yellow, "note:"))
	for i, d := range list {
		if i == shownDifferences {
			a.Say("  … and %d more; --json lists all", len(list)-i)
			return
		}
		a.Say("  %s", differenceText(d))
	}
}

func differenceText(d forkbox.Difference) string {
	what := d.Kind
	if d.Name != "" && d.Name != d.Kind {
		what += " " + d.Name
	}
	switch {
	case d.Have == "" && d.Want == "":
		return terminal.Printable(what + " is missing here")
	case d.Have == "":
		return terminal.Printable(what + " is missing here; there it was " + d.Want)
	case d.Want == "":
		return terminal.Printable(what + " is " + d.Have + " here; there it was not")
	}
	return terminal.Printable(what + " is " + d.Have + " here; there it was " + d.Want)
}
