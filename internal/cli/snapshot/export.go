package snapshot

import (
	"context"
	"io"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func ExportVerb(a *app.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "export [-o FILE] BOX[@SNAPSHOT]",
		Short: "Write a box to a file, to take it elsewhere",
		Long: `Write a box as it is now, or was at a snapshot, as an OCI image in a tar. forkbox
import makes a box of it on another machine. BOX@ is the last snapshot of BOX.

A box that was forked from reality is exported as its changes, with a record of
what they were made on: import says how the other machine differs. A box with a
base of its own is whole: any tool for OCI images can run it.

Without -o the archive goes to stdout, unless that is a terminal. FILE is there
when all of it is, and not before.`,
		Example: `  forkbox export -o try.tar try@green
  forkbox export try | ssh elsewhere forkbox import - try`,
		Args:              app.Exactly(1, "a box: forkbox export BOX[@SNAPSHOT]"),
		ValidArgsFunction: a.CompleteRefs(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return export(cmd.Context(), a, args[0], file) },
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this `file`; - is stdout")
	return cmd
}

func export(ctx context.Context, a *app.App, ref, file string) error {
	toStdout := file == "" || file == "-"
	const op = "export a box"
	switch {
	case toStdout && terminal.IsTerminal(a.Stdout):
		return forkbox.Errorf(forkbox.Invalid, op, "an archive is nothing for a terminal").
			Hint("name a file: forkbox export -o FILE %s", ref)
	case toStdout && a.JSON:
		return forkbox.Errorf(forkbox.Invalid, op, "stdout cannot have both the archive and the document of --json").
			Hint("name a file: forkbox export -o FILE --json %s", ref)
	}
	moved := &terminal.Flow{What: "exporting " + terminal.Printable(ref)}
	err := a.Tidily(ctx, moved.Text, func(ctx context.Context) error {
		write := func(w io.Writer) error { return a.Client().Export(ctx, ref, moved.Writer(w)) }
		if toStdout {
			return write(a.Stdout)
		}
		return app.WriteWhole(file, write)
	})
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(app.Written{File: file, Bytes: moved.Done.Load()})
	case !toStdout:
		a.Say("%s: %s", terminal.Printable(file), forkbox.FormatSize(moved.Done.Load()))
	}
	return nil
}
