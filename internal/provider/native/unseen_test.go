//go:build linux

package native

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

// TestPromise6ABoxThatWouldNotShowItsWorkIsRefused: what a box without root wrote
// in its workspace lies in the upper of a directory that may be overlaid no more.
func TestPromise6ABoxThatWouldNotShowItsWorkIsRefused(t *testing.T) {
	store, err := layers.Open(t.TempDir())
	must(t, err)
	files := &stacks{store: store, rootless: true}
	box := forkbox.Box{ID: "0123456789ab", Name: "one", Dir: "/data/ws"}
	must(t, store.Create(t.Context(), box.ID))
	write := func(mount, name string) {
		t.Helper()
		dir, _, err := store.NewUpper(box.ID, mount)
		must(t, err)
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("work"), 0o644))
	}
	start := func(overlays ...string) error {
		plan := &plan{box: box, rootless: true}
		for _, path := range overlays {
			plan.views = append(plan.views, view{Path: path})
		}
		return files.checkShown(plan)
	}
	must(t, start("/data/ws", "/tmp")) // it wrote nothing yet
	write("/data", "other/f")
	must(t, start("/data/other", "/data/ws")) // not the workspace's
	write("/data", "ws/deep/f")
	must(t, start("/data", "/tmp"))
	if err := start("/data/ws", "/data/other"); forkbox.CodeOf(err) != forkbox.Conflict {
		t.Errorf("something was mounted below /data: %v", err)
	}
	box.ID = "0123456789ac"
	must(t, store.Create(t.Context(), box.ID))
	write("/data/ws", "f")
	must(t, start("/data/ws", "/data/other"))
	if err := start("/data"); forkbox.CodeOf(err) != forkbox.Conflict {
		t.Errorf("it is mounted there no more: %v", err)
	}
	write("/srv", "out/f")
	elsewhere := &plan{box: box, rootless: true, views: []view{{Path: "/data/ws"}, {Path: "/srv/out"}}}
	must(t, files.checkShown(elsewhere)) // it is not the workspace's, and said elsewhere
	if got, err := files.notShown(elsewhere, "/"); err != nil || !slices.Equal(got, []string{"/srv"}) {
		t.Errorf("something was mounted below /srv: not shown are %q, %v", got, err)
	}
	files.rootless = false
	must(t, start("/data")) // root's overlays are of whole filesystems
}
