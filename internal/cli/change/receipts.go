package change

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func ReceiptsVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "receipts [RECEIPT]",
		Short: "List what was applied, or show one apply with its paths",
		Long: `List your applies, newest first: what can be undone, what was undone, and what is
too old for that. KEPT is what is kept for an undo. With RECEIPT one of them is
shown with every path that it landed.`,
		Example:           "  forkbox receipts\n  forkbox receipts 3f2a\n  forkbox receipts --json | jq -r '.receipts[].id'",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteReceipts,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return showOneReceipt(cmd.Context(), a, args[0])
			}
			return listReceipts(cmd.Context(), a)
		},
	}
}

func listReceipts(ctx context.Context, a *app.App) error {
	receipts, err := a.Client().Receipts(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		if receipts == nil {
			receipts = []forkbox.Receipt{}
		}
		return a.PrintJSON(api.ReceiptList{Receipts: receipts})
	}
	if len(receipts) == 0 {
		a.Say("nothing was applied yet; land a box's changes: forkbox apply BOX")
		return nil
	}
	return a.Table("ID\tWHEN\tBOX\tPATHS\tSTATE\tKEPT\tMESSAGE", func(w io.Writer) {
		for _, r := range receipts {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n",
				r.ID, terminal.Ago(r.Created), terminal.Printable(r.BoxName), r.Paths, r.State, forkbox.FormatSize(r.Bytes), terminal.Printable(r.Message))
		}
	})
}

func showOneReceipt(ctx context.Context, a *app.App, ref string) error {
	r, err := a.Client().Receipt(ctx, ref)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(r)
	}
	if err := a.Table("", func(w io.Writer) { writeReceipt(w, r) }); err != nil || len(r.Entries) == 0 {
		return err
	}
	fmt.Fprintln(a.Stdout)
	at := a.Here()
	for _, entry := range r.Entries {
		if _, err := fmt.Fprintln(a.Stdout, landedLine(at, entry)); err != nil {
			return err
		}
	}
	if more := r.Paths - len(r.Entries); more > 0 {
		a.Say("and %d more", more)
	}
	return nil
}

func writeReceipt(w io.Writer, r forkbox.Receipt) {
	rows := [][2]string{
		{"receipt", r.ID}, {"state", string(r.State)}, {"box", terminal.Printable(r.BoxName)}, {"applied", terminal.Ago(r.Created)},
		{"undone", undoneText(r)}, {"paths", fmt.Sprint(r.Paths)}, {"kept for an undo", forkbox.FormatSize(r.Bytes)},
		{"directory", terminal.Printable(r.Workdir)}, {"message", terminal.Printable(r.Message)}, {"commit", r.Commit},
		{"hash", r.Hash}, {"note", terminal.Printable(r.Note)},
	}
	for _, caution := range r.Cautions {
		rows = append(rows, [2]string{"accepted", terminal.Printable(caution.Path) + ": " + terminal.Printable(caution.Why)})
	}
	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
}

func undoneText(r forkbox.Receipt) string {
	if r.Undone.IsZero() {
		return ""
	}
	return terminal.Ago(r.Undone)
}
