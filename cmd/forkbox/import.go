package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) importVerb() *cobra.Command {
	var net netFlags
	var limits limitFlags
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
		Args:              between(1, 2, "a file: forkbox import FILE [NAME]"),
		ValidArgsFunction: completeOneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && name != "" {
				return errors.New("the box's name is given twice: with --name, and after FILE")
			}
			req, err := importRequest(append(args, name)[1], net, limits)
			if err != nil {
				return err
			}
			net.warn(a)
			return a.importFile(cmd.Context(), args[0], req)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the box, as after FILE")
	net.add(a, cmd, "if nothing is said: policy")
	limits.addForBox(cmd)
	limits.addWait(cmd)
	return cmd
}

// importRequest is the box to make of an archive. A project's file is about this
// machine's work, not about what comes from elsewhere.
func importRequest(name string, net netFlags, limits limitFlags) (req client.ImportRequest, err error) {
	word, wish, err := net.request(false, false)
	req.ImportSpec = forkbox.ImportSpec{Name: name, Net: forkbox.Net(word)}
	req.Wish, req.NetWish = limits.wish(), wish
	return req, err
}

func (a *app) importFile(ctx context.Context, file string, req client.ImportRequest) error {
	in, err := openArchive(file, true)
	if err != nil {
		return err
	}
	defer in.Close()
	c := a.client()
	defer c.Close()
	return a.importFrom(ctx, c, in, req)
}

func (a *app) importFrom(ctx context.Context, c *client.Client, in *archive, req client.ImportRequest) error {
	moved := &flow{what: "importing " + printable(in.name), total: in.size}
	var done forkbox.Import
	err := a.tidily(ctx, moved.text, func(ctx context.Context) (err error) {
		done, err = c.ImportWith(ctx, moved.reader(in), req)
		return err
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(done)
	}
	a.tellDifferences(done.Differences)
	a.tellNote(string(req.Net), done.Box)
	_, err = fmt.Fprintln(a.stdout, done.Box.Name)
	return err
}

// shownDifferences is how many fit on a screen; --json has them all.
const shownDifferences = 10

func (a *app) tellDifferences(list []forkbox.Difference) {
	if len(list) == 0 {
		return
	}
	a.say("%s this machine is not the one that it was made on:", a.paint(yellow, "note:"))
	for i, d := range list {
		if i == shownDifferences {
			a.say("  … and %d more; --json lists all", len(list)-i)
			return
		}
		a.say("  %s", differenceText(d))
	}
}

func differenceText(d forkbox.Difference) string {
	what := d.Kind
	if d.Name != "" && d.Name != d.Kind {
		what += " " + d.Name
	}
	switch {
	case d.Have == "" && d.Want == "":
		return printable(what + " is missing here")
	case d.Have == "":
		return printable(what + " is missing here; there it was " + d.Want)
	case d.Want == "":
		return printable(what + " is " + d.Have + " here; there it was not")
	}
	return printable(what + " is " + d.Have + " here; there it was " + d.Want)
}
