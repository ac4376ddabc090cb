package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/retention"
	"github.com/spf13/cobra"
)

func GCVerb(a *app.App) *cobra.Command { return (&collector{App: a}).verb() }

func (g *collector) verb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gc [--dry-run] [--older-than D] [--idle D] [--max-size S] [--unreviewed] [-y] [-v]",
		Short: "Clear away boxes that are done with",
		Long: `Remove boxes that are done with, and what no box needs any more. Without a limit
the daemon's own policy decides (FORKBOX_RETENTION). With limits a box goes when one
of them speaks against it: --older-than by when it was made, --idle by when it was
last used, --max-size the least recently used first, until the rest takes no more.

Never removed: what runs, what is kept (forkbox keep), what other boxes lie over,
and, without --unreviewed, what has changes that nobody applied or discarded.

Ages are like 12h, 7d and 2w, sizes like 500M and 50G. At a terminal you see what
would go, and are asked. With -v what stays, though a limit spoke against it, is
listed with the reason.`,
		Example: `  forkbox gc --dry-run
  forkbox gc --idle 2w
  forkbox gc --max-size 50G --yes
  forkbox gc --dry-run --json | jq -r '.removed[].name'`,
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return g.run(cmd) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&g.spec.DryRun, "dry-run", false, "remove nothing, say what would go")
	flags.StringVar(&g.olderThan, "older-than", "", "boxes made longer ago than this `age`")
	flags.StringVar(&g.idle, "idle", "", "boxes last used longer ago than this `age`")
	flags.StringVar(&g.maxSize, "max-size", "", "the least recently used, until all is this `size` at most")
	flags.BoolVar(&g.spec.Unreviewed, "unreviewed", false, "also boxes with changes that nobody applied or discarded")
	flags.BoolVarP(&g.yes, "yes", "y", false, "do not ask")
	flags.BoolVarP(&g.verbose, "verbose", "v", false, "list what stays, and why")
	return cmd
}

type collector struct {
	*app.App
	spec                     forkbox.GCSpec
	olderThan, idle, maxSize string
	yes, verbose             bool
}

func (g *collector) run(cmd *cobra.Command) error {
	if err := g.parse(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	c := g.Client()
	defer c.Close()
	if !g.spec.DryRun && !g.yes && g.CanAsk() {
		if sure, err := g.sure(ctx, c); err != nil || !sure {
			return err
		}
	}
	done, err := g.collect(ctx, c, g.spec)
	if err != nil {
		return err
	}
	if g.JSON {
		err = g.PrintJSON(done)
	} else {
		err = g.show(done)
	}
	if err == nil && anyFailed(done.Removed) {
		return app.SomeFailed
	}
	return err
}

// parse refuses a limit that was given and says nothing, as --idle "$UNSET":
// it would mean the policy, which the user did not ask for.
func (g *collector) parse(cmd *cobra.Command) (err error) {
	said := cmd.Flags().Changed
	if said("older-than") {
		g.spec.OlderThan, err = retention.ParseAge(g.olderThan)
		if err != nil {
			return ofFlag("--older-than", err)
		}
	}
	if said("idle") {
		g.spec.IdleFor, err = retention.ParseAge(g.idle)
		if err != nil {
			return ofFlag("--idle", err)
		}
	}
	if said("max-size") {
		g.spec.MaxSize, err = retention.ParseSize(g.maxSize)
	}
	return ofFlag("--max-size", err)
}

// ofFlag says which flag a bad value is of.
func ofFlag(flag string, err error) error {
	var bad *forkbox.Error
	if !errors.As(err, &bad) {
		return err
	}
	e := forkbox.Errorf(bad.Code, "understand "+flag, "%s", bad.Why)
	e.Hints = bad.Hints
	return e
}

func (g *collector) collect(ctx context.Context, c *client.Client, spec forkbox.GCSpec) (done forkbox.GC, err error) {
	err = g.Patiently(ctx, "clearing up", func(ctx context.Context) error {
		done, err = c.GC(ctx, spec)
		return err
	})
	return done, err
}

// sure shows what would go before it asks. Where nothing would, there is
// nothing to ask.
func (g *collector) sure(ctx context.Context, c *client.Client) (bool, error) {
	spec := g.spec
	spec.DryRun = true
	would, err := g.collect(ctx, c, spec)
	if err != nil {
		return false, err
	}
	if len(would.Removed) == 0 {
		return false, g.show(would)
	}
	if err := g.list(would); err != nil {
		return false, err
	}
	if !g.Agree(fmt.Sprintf("remove %s (%s)? There is no way back.", countKinds(would.Removed), forkbox.FormatSize(would.Freed))) {
		g.Say("nothing was removed")
		return false, nil
	}
	return true, nil
}

// show lists what went, and with -v what stays, on stdout; the sum is on
// stderr.
func (g *collector) show(done forkbox.GC) error {
	if err := g.list(done); err != nil {
		return err
	}
	for _, item := range done.Removed {
		if item.Error != nil {
			g.Say("%s %s %s: %s", g.Paint(terminal.Red, "error:"), item.Kind, terminal.Printable(nameOf(item)), terminal.Printable(item.Error.Error()))
		}
	}
	gone := succeededOf(done.Removed)
	switch {
	case len(done.Removed) == 0 && len(done.Kept) > 0 && !g.verbose:
		g.Say("nothing to clear away; why %s: forkbox gc --dry-run -v", staysText(len(done.Kept)))
	case len(done.Removed) == 0:
		g.Say("nothing to clear away")
	case done.DryRun:
		g.Say("would remove %s and free %s", countKinds(gone), forkbox.FormatSize(done.Freed))
	default:
		g.Say("removed %s, freed %s", countKinds(gone), forkbox.FormatSize(done.Freed))
	}
	return nil
}

func staysText(n int) string {
	if n == 1 {
		return "1 other stays"
	}
	return fmt.Sprintf("%d others stay", n)
}

func (g *collector) list(done forkbox.GC) error {
	verb := "removed"
	if done.DryRun {
		verb = "goes"
	}
	return g.Table("", func(w io.Writer) {
		for _, item := range done.Removed {
			what := verb
			if item.Error != nil {
				what = "failed"
			}
			writeCollected(w, what, item)
		}
		for _, item := range done.Kept {
			if g.verbose {
				writeCollected(w, "stays", item)
			}
		}
	})
}

func writeCollected(w io.Writer, what string, item forkbox.Collected) {
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", what, item.Kind, terminal.Printable(nameOf(item)), forkbox.FormatSize(item.Bytes), terminal.Printable(item.Why))
}

func nameOf(item forkbox.Collected) string {
	if item.Name != "" {
		return item.Name
	}
	return item.ID
}

func anyFailed(items []forkbox.Collected) bool { return len(succeededOf(items)) < len(items) }

func succeededOf(items []forkbox.Collected) (gone []forkbox.Collected) {
	for _, item := range items {
		if item.Error == nil {
			gone = append(gone, item)
		}
	}
	return gone
}

// countKinds reads "2 boxes, 1 snapshot".
func countKinds(items []forkbox.Collected) string {
	count := map[string]int{}
	var order []string
	for _, item := range items {
		if count[item.Kind]++; count[item.Kind] == 1 {
			order = append(order, item.Kind)
		}
	}
	var parts []string
	for _, kind := range order {
		switch n := count[kind]; {
		case kind == "box" && n != 1:
			parts = append(parts, fmt.Sprintf("%d boxes", n))
		default:
			parts = append(parts, terminal.Plural(n, kind))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
