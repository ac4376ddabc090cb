package box

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func RmVerb(a *app.App) *cobra.Command {
	r := &remover{App: a}
	cmd := &cobra.Command{
		Use:   "rm [-f] [--squash] BOX[@SNAPSHOT]…",
		Short: "Remove a box with its changes, or a snapshot",
		Long: `Remove a box with everything in it, its snapshots too. There is no way back. Boxes
that were forked from it stay as they are.

BOX@SNAPSHOT removes one snapshot. While boxes or templates that were made of it
need it, that is refused, and they are named; with --squash what they need of it
becomes theirs.

A box with changes that nobody applied is removed after a yes at a terminal;
elsewhere it is said what went with it. With -f neither; also a box that runs, and
what is not there counts as removed. Without -f both are errors.`,
		Example:           "  forkbox rm try\n  forkbox rm -f try other\n  forkbox rm --squash try@green",
		Args:              app.Needs(1, "a box: forkbox rm BOX…"),
		ValidArgsFunction: a.CompleteRefs(0),
		RunE:              func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVarP(&r.force, "force", "f", false, "also what runs or is not there")
	cmd.Flags().BoolVar(&r.squash, "squash", false, "also a snapshot that boxes were made of: they keep what they need")
	return cmd
}

type remover struct {
	*app.App
	force, squash bool
	gone          removed
}

// removed is the document of rm --json.
type removed struct {
	api.BoxList
	Snapshots []forkbox.Snapshot `json:"snapshots,omitempty"`
}

func (r *remover) run(ctx context.Context, refs []string) error {
	if err := r.check(refs); err != nil {
		return err
	}
	c := r.Client()
	defer c.Close()
	r.gone.Boxes = []forkbox.Box{}
	failed := r.Each(refs, func(ref string) error {
		err := r.remove(ctx, c, ref)
		if r.force && forkbox.CodeOf(err) == forkbox.NotFound {
			return nil
		}
		return err
	})
	if r.JSON {
		if err := r.PrintJSON(r.gone); err != nil {
			return err
		}
	}
	return failed
}

// check looks at all of the command line before anything goes. BOX@ would be
// the last snapshot, which is too easily not the one that was meant.
func (r *remover) check(refs []string) error {
	for _, ref := range refs {
		box, snapshot, at := forkbox.SplitRef(ref)
		switch {
		case at && (box == "" || snapshot == ""):
			return forkbox.Errorf(forkbox.Invalid, "remove snapshot "+ref, "it has to be named").
				Hint("the names are in: forkbox snapshots %s", box)
		case !at && r.squash:
			return forkbox.Errorf(forkbox.Invalid, "remove "+ref, "--squash is for snapshots: BOX@SNAPSHOT")
		}
	}
	return nil
}

func (r *remover) remove(ctx context.Context, c *client.Client, ref string) error {
	if _, _, at := forkbox.SplitRef(ref); at {
		return r.removeSnapshot(ctx, c, ref)
	}
	return r.removeBox(ctx, c, ref)
}

// removeBox asks about work that is nowhere else, and says what went where the
// user cannot be asked. With -f it does neither.
func (r *remover) removeBox(ctx context.Context, c *client.Client, ref string) error {
	if !r.JSON {
		work := r.work(ctx, c, ref)
		if work != "" && r.CanAsk() && !r.Agree(fmt.Sprintf("remove box %s with %s? There is no way back.", ref, work)) {
			r.Say("box %s stays", ref)
			return nil
		}
		defer r.Progress("removing " + ref)()
		err := c.Remove(ctx, ref, r.force)
		if err == nil && work != "" {
			r.Say("removed box %s with %s", ref, work)
		}
		return err
	}
	box, err := c.Box(ctx, ref)
	if err != nil {
		return err
	}
	if err := c.Remove(ctx, box.ID, r.force); err != nil {
		return err
	}
	box.State = forkbox.Removing
	r.gone.Boxes = append(r.gone.Boxes, box)
	return nil
}

// work is what of a box was not applied. A look that fails is no reason to keep
// a box.
func (r *remover) work(ctx context.Context, c *client.Client, ref string) string {
	if r.force {
		return ""
	}
	s, err := c.Changes(ctx, ref, forkbox.DiffSpec{}, func(forkbox.Change) error { return nil })
	var parts []string
	if s.Workspace.Total > 0 {
		parts = append(parts, describe.CountByKind(s.Workspace))
	}
	if s.System.Total > 0 {
		parts = append(parts, terminal.Plural(s.System.Total, "change")+" of the system")
	}
	if err != nil || len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " and ")
}

func (r *remover) removeSnapshot(ctx context.Context, c *client.Client, ref string) error {
	var list []forkbox.Snapshot
	box, name, _ := forkbox.SplitRef(ref)
	if r.JSON {
		var err error
		if list, err = c.Snapshots(ctx, box); err != nil {
			return err
		}
	}
	if err := c.RemoveSnapshot(ctx, ref, r.squash); err != nil {
		return app.Advise(err, forkbox.Busy, "--squash", "merge it into what needs it: forkbox rm --squash %s", ref)
	}
	for _, s := range list {
		if s.Name == name || s.ID == name {
			r.gone.Snapshots = append(r.gone.Snapshots, s)
		}
	}
	return nil
}
