package main

import (
	"context"
	"fmt"
	"io"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) receiptsVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "receipts [RECEIPT]",
		Short: "List what was applied, or show one apply with its paths",
		Long: `List your applies, newest first: what can be undone, what was undone, and what is
too old for that. KEPT is what is kept for an undo. With RECEIPT one of them is
shown with every path that it landed.`,
		Example:           "  forkbox receipts\n  forkbox receipts 3f2a\n  forkbox receipts --json | jq -r '.receipts[].id'",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeReceipts,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.showOneReceipt(cmd.Context(), args[0])
			}
			return a.listReceipts(cmd.Context())
		},
	}
}

func (a *app) listReceipts(ctx context.Context) error {
	receipts, err := a.client().Receipts(ctx)
	if err != nil {
		return err
	}
	if a.json {
		if receipts == nil {
			receipts = []forkbox.Receipt{}
		}
		return a.printJSON(client.ReceiptList{Receipts: receipts})
	}
	if len(receipts) == 0 {
		a.say("nothing was applied yet; land a box's changes: forkbox apply BOX")
		return nil
	}
	return a.table("ID\tWHEN\tBOX\tPATHS\tSTATE\tKEPT\tMESSAGE", func(w io.Writer) {
		for _, r := range receipts {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n",
				r.ID, ago(r.Created), printable(r.BoxName), r.Paths, r.State, size(r.Bytes), printable(r.Message))
		}
	})
}

func (a *app) showOneReceipt(ctx context.Context, ref string) error {
	r, err := a.client().Receipt(ctx, ref)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r)
	}
	if err := a.table("", func(w io.Writer) { writeReceipt(w, r) }); err != nil || len(r.Entries) == 0 {
		return err
	}
	fmt.Fprintln(a.stdout)
	at := here()
	for _, entry := range r.Entries {
		if _, err := fmt.Fprintln(a.stdout, landedLine(at, entry)); err != nil {
			return err
		}
	}
	if more := r.Paths - len(r.Entries); more > 0 {
		a.say("and %d more", more)
	}
	return nil
}

func writeReceipt(w io.Writer, r forkbox.Receipt) {
	rows := [][2]string{
		{"receipt", r.ID}, {"state", string(r.State)}, {"box", printable(r.BoxName)}, {"applied", ago(r.Created)},
		{"undone", undoneText(r)}, {"paths", fmt.Sprint(r.Paths)}, {"kept for an undo", size(r.Bytes)},
		{"directory", printable(r.Workdir)}, {"message", printable(r.Message)}, {"commit", r.Commit},
		{"hash", r.Hash}, {"note", printable(r.Note)},
	}
	for _, caution := range r.Cautions {
		rows = append(rows, [2]string{"accepted", printable(caution.Path) + ": " + printable(caution.Why)})
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
	return ago(r.Undone)
}
