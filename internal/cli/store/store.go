// Package store has the verbs for what boxes are kept in, and its health.
package store

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func StoreVerb(a *app.App) *cobra.Command {
	return app.WithSubverbs(&cobra.Command{
		Use:   "store init|grow|status|rm",
		Short: "What boxes are kept in",
		Long: `Boxes are kept in the daemon's home. Where its filesystem has no quotas, a pool can
be made there: a file with a filesystem of its own, in which limits of disk are
enforced. It takes only what is in it, and never more than its size. Only root, or
whoever the daemon runs as, may change it.`,
		Example: `  forkbox store status
  forkbox store init --size 50g
  forkbox store grow --size 100g
  forkbox store rm`,
	}, storeInitVerb(a), storeGrowVerb(a), storeStatusVerb(a), storeRemoveVerb(a))
}

func storeInitVerb(a *app.App) *cobra.Command {
	return sizedVerb(a, cobra.Command{
		Use:     "init --size SIZE",
		Short:   "Keep boxes in a pool",
		Long:    "Make a pool and keep boxes in it from now on. There must be no box yet.",
		Example: "  forkbox store init --size 50g",
	}, "making a pool", func(ctx context.Context, size int64) (api.Store, error) { return a.Client().InitStore(ctx, size) })
}

func storeGrowVerb(a *app.App) *cobra.Command {
	return sizedVerb(a, cobra.Command{
		Use:     "grow --size SIZE",
		Short:   "Make the pool larger",
		Long:    "Make the pool larger, up to SIZE in all. Boxes may run meanwhile.",
		Example: "  forkbox store grow --size 100g",
	}, "growing the pool", func(ctx context.Context, size int64) (api.Store, error) { return a.Client().GrowStore(ctx, size) })
}

// sizedVerb is one that needs --size, which is understood before anything is
// done.
func sizedVerb(a *app.App, cmd cobra.Command, doing string, do func(context.Context, int64) (api.Store, error)) *cobra.Command {
	sizes := forkbox.Limits{}
	cmd.Args, cmd.ValidArgsFunction = app.Alone(""), cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		size, said := sizes[forkbox.Disk]
		if !said || size == forkbox.Unlimited {
			return fmt.Errorf("store %s needs a size: --size 50g", cmd.Name())
		}
		var store api.Store
		err := a.Patiently(cmd.Context(), doing, func(ctx context.Context) (err error) {
			store, err = do(ctx, size)
			return err
		})
		if err != nil {
			return err
		}
		return showStore(a, store)
	}
	cmd.Flags().Var(flags.LimitValue{Resource: forkbox.Disk, Into: sizes}, "size", "how much it holds at most: 50g")
	cmd.RegisterFlagCompletionFunc("size", cobra.NoFileCompletions)
	return &cmd
}

func storeStatusVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "status",
		Short:             "Show what boxes are kept in",
		Long:              "Show where boxes are kept, how their limits of disk are held there, and how much room is left.",
		Example:           "  forkbox store status\n  forkbox store status --json | jq .pool.free_bytes",
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := a.Client().Store(cmd.Context())
			if err != nil {
				return err
			}
			return showStore(a, store)
		},
	}
}

func storeRemoveVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "rm",
		Aliases:           []string{"remove"},
		Short:             "Do away with the pool",
		Long:              "Remove the pool. There must be no box any more. Boxes are then kept in the daemon's home itself.",
		Example:           "  forkbox store rm",
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.Client()
			defer c.Close()
			err := a.Patiently(cmd.Context(), "removing the pool", func(ctx context.Context) error { return c.RemoveStore(ctx) })
			if err != nil || !a.JSON {
				return err
			}
			store, err := c.Store(cmd.Context())
			if err != nil {
				return err
			}
			return a.PrintJSON(store)
		},
	}
}

func showStore(a *app.App, s api.Store) error {
	if a.JSON {
		return a.PrintJSON(s)
	}
	return a.Table("", func(w io.Writer) {
		for _, row := range storeRows(s) {
			if row[1] != "" {
				fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
			}
		}
	})
}

func storeRows(s api.Store) [][2]string {
	rows := [][2]string{
		{"kept in", terminal.Printable(s.Dir)}, {"layers", s.Driver}, {"pool", poolText(s.Pool)},
		{"limits of disk", holdingText(s.Disk)}, {"limits of inodes", holdingText(s.Inodes)},
	}
	if s.HostFree > 0 {
		rows = append(rows, [2]string{"free on the host", terminal.RoundBytes(s.HostFree)})
	}
	return rows
}

func poolText(p *api.Pool) string {
	if p == nil {
		return "none; make one: forkbox store init --size 50g"
	}
	text := fmt.Sprintf("%s, %s used, %s free; the file takes %s", terminal.RoundBytes(p.Size), terminal.RoundBytes(p.Used), terminal.RoundBytes(p.Free), terminal.RoundBytes(p.Allocated))
	return strings.TrimSpace(terminal.Printable(p.File) + " " + text)
}

func holdingText(h forkbox.Holding) string {
	if h.How == "" {
		return ""
	}
	return string(h.How) + terminal.Because(terminal.Printable(h.Why))
}
