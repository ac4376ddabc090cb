package box

import (
	"context"
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

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
