package box

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
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// shownBox is the document of show --json: the box, what ran in it, and its
// snapshots.
type shownBox struct {
	forkbox.Box
	Execs     []forkbox.Exec     `json:"execs"`
	Snapshots []forkbox.Snapshot `json:"snapshots"`
	// Origin is what it was forked from, as people call it.
	Origin string `json:"origin,omitempty"`
}

func ShowVerb(a *app.App) *cobra.Command {
	var policy bool
	cmd := &cobra.Command{
		Use:   "show BOX|--policy",
		Short: "Show a box, its limits and what ran in it",
		Long: `Show a box: what it was made of, the snapshots it has and how they are stored, the
limits that hold for it, and the commands that ran in it and how each ended.

Of each limit there is who set it, the host, the user's share of it, the project's
file, the box or the daemon's defaults; and whether it is enforced, only watched,
or not enforced at all, and then why. With --policy there are the limits that a
box would have that is made here and now.`,
		Example:           "  forkbox show try\n  forkbox show try --json | jq .state\n  forkbox show --policy",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case policy && len(args) == 0:
				return wouldLimit(cmd.Context(), a)
			case policy:
				return errors.New("--policy is about a new box: forkbox show --policy")
			}
			if err := app.Exactly(1, "a box: forkbox show BOX")(cmd, args); err != nil {
				return err
			}
			return show(cmd.Context(), a, args[0])
		},
	}
	cmd.Flags().BoolVar(&policy, "policy", false, "the limits that a new box would have")
	return cmd
}

func show(ctx context.Context, a *app.App, ref string) error {
	c := a.Client()
	defer c.Close()
	shown, err := gatherBox(ctx, c, ref)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(shown)
	}
	if err := a.Table("", func(w io.Writer) { writeBox(w, shown) }); err != nil {
		return err
	}
	if err := showPolicy(a, shown.Policy); err != nil || len(shown.Execs) == 0 {
		return err
	}
	fmt.Fprintln(a.Stdout)
	return a.Table(describe.ExecsHead, func(w io.Writer) { describe.WriteExecs(w, shown.Execs) })
}

func writeBox(w io.Writer, b shownBox) {
	rows := [][2]string{
		{"name", b.Name}, {"id", b.ID}, {"state", describe.State(b.Box)}, {"provider", b.Provider},
		{"base", baseText(b.Base)}, {"forked from", terminal.Printable(b.Origin)}, {"stands on", standsOnText(b)},
		{"snapshots", snapshotsText(b)}, {"store", storeText(b.Box)},
		{"owner", b.Owner.Name}, {"directory", terminal.Printable(b.Dir)}, {"secrets shown", strings.Join(b.AllowSecrets, ", ")}, {"note", terminal.Printable(b.Note)},
	}
	rows = append(rows, describe.NetRows(b.Box)...)
	rows = append(rows, [][2]string{{"paused", terminal.Printable(b.Paused)}, {"died", deathText(b.Death)}, {"priority", string(b.Priority)}}...)
	if b.Stale != nil {
		rows = append(rows, [2]string{"stale", describe.Stale(b.Box)})
	}
	for _, path := range b.Unresolved {
		rows = append(rows, [2]string{"unresolved", terminal.Printable(path)})
	}
	if b.Pinned {
		rows = append(rows, [2]string{"kept running", "until: forkbox stop " + b.Name})
	}
	if b.Kept {
		rows = append(rows, [2]string{"kept", "gc leaves it alone, until: forkbox keep --off " + b.Name})
	}
	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
}

// gatherBox gathers what show tells of a box.
func gatherBox(ctx context.Context, c *client.Client, ref string) (shown shownBox, err error) {
	if shown.Box, err = c.Box(ctx, ref); err != nil {
		return shown, err
	}
	if shown.Execs, err = c.Execs(ctx, shown.ID); err != nil {
		return shown, err
	}
	if shown.Snapshots, err = c.Snapshots(ctx, shown.ID); err != nil {
		return shown, err
	}
	if shown.Snapshots == nil {
		shown.Snapshots = []forkbox.Snapshot{}
	}
	if shown.Parent == "" {
		return shown, nil
	}
	family, err := c.Family(ctx)
	if err == nil {
		shown.Origin = originName(family, shown.Box)
	}
	return shown, err
}

// originName is what a box was forked from: BOX@SNAPSHOT, or a template.
func originName(family forkbox.Family, box forkbox.Box) string {
	for _, s := range family.Snapshots {
		if s.ID == box.Parent {
			return s.BoxName + "@" + s.Name
		}
	}
	for _, t := range family.Templates {
		if t.ID == box.Parent {
			return "template " + t.Name
		}
	}
	return describe.Removed
}

func baseText(base forkbox.Base) string {
	text := base.Kind
	if base.Name != "" {
		text += " " + terminal.Printable(base.Name)
	}
	if base.Fence.Equal(forkbox.NeverFenced) {
		return text + ", with changes made on another"
	}
	return text + ", " + terminal.Ago(base.Fence)
}

// standsOnText is the snapshot of its own that a box stands on.
func standsOnText(b shownBox) string {
	for _, s := range b.Snapshots {
		if s.ID == b.At {
			return "@" + terminal.Printable(s.Name)
		}
	}
	return ""
}

func snapshotsText(b shownBox) string {
	if len(b.Snapshots) == 0 {
		return ""
	}
	return fmt.Sprintf("%d; see: forkbox snapshots %s", len(b.Snapshots), b.Name)
}

// storeText is how a box's files are kept, and in how many layers.
func storeText(box forkbox.Box) string {
	if len(box.Layers) == 0 {
		return box.Store
	}
	text := terminal.Plural(len(box.Layers), "layer") + " below its own"
	if box.Store == "" {
		return text
	}
	return box.Store + ", " + text
}

// showPolicy lists the limits that hold, if any.
func showPolicy(a *app.App, policy forkbox.Policy) error {
	if len(policy) == 0 {
		return nil
	}
	fmt.Fprintln(a.Stdout)
	return a.Table("LIMIT\tVALUE\tFROM\tHOW", func(w io.Writer) { writePolicy(w, policy) })
}

func writePolicy(w io.Writer, policy forkbox.Policy) {
	for _, r := range forkbox.Resources {
		if rule, has := policy[r]; has {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r, forkbox.FormatLimit(r, rule.Value), terminal.Printable(rule.From), describe.How(rule))
		}
	}
}

// wouldLimit shows what a box would get that is made here.
func wouldLimit(ctx context.Context, a *app.App) error {
	wish, err := flags.WithProject(forkbox.Wish{BestEffort: true}) // it only shows what holds, and how
	if err != nil {
		return err
	}
	policy, err := a.Client().Policy(ctx, wish)
	if err != nil {
		return err
	}
	return a.List(api.PolicyDocument{Policy: policy}, len(policy), "a box would have no limits", "LIMIT\tVALUE\tFROM\tHOW", func(w io.Writer) { writePolicy(w, policy) })
}

func deathText(death *forkbox.Exit) string {
	if death == nil {
		return ""
	}
	return describe.Exit(death)
}
