package copying

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestASnapshotIsOfOneMoment(t *testing.T) {
	onFilesystem(t, "btrfs", func(t *testing.T, mnt string) {
		dir, near := filepath.Join(mnt, "data"), filepath.Join(mnt, "near")
		run(t, "btrfs", "subvolume", "create", dir)
		must(t, os.Mkdir(near, 0o700))
		source := Source{Name: "writer", PID: startWriter(t, dir), Paths: []string{dir}}
		wantForeseen(t, source, near, Snapshot, true)
		for range 5 {
			taken := takeSnapshot(t, source, near)
			if taken.Paused <= 0 {
				t.Errorf("who does not sync was not stopped: %+v", taken)
			}
		}
		if _, err := Take(t.Context(), []Source{source}, Options{Put: into(near), Way: Snapshot}); forkbox.CodeOf(err) != forkbox.Unsupported {
			t.Errorf("it may not be stopped, and is: %v", err)
		}
	})
}

// Who syncs what it depends on goes on all the while. Its data is no whole
// subvolume, but a directory of one.
func TestASnapshotOfWhoSyncsStopsNobody(t *testing.T) {
	onFilesystem(t, "btrfs", func(t *testing.T, mnt string) {
		t.Setenv(syncsVar, "1")
		dir, near := filepath.Join(mnt, "a/data"), filepath.Join(mnt, "near")
		must(t, os.MkdirAll(dir, 0o700))
		must(t, os.Mkdir(near, 0o700))
		source := Source{Name: "writer", PID: startWriter(t, dir), Paths: []string{dir}, Durable: true}
		wantForeseen(t, source, near, Snapshot, false)
		for range 5 {
			taken := takeSnapshot(t, source, near)
			if taken.Paused != 0 {
				t.Errorf("it stood still: %+v", taken)
			}
		}
	})
}

func wantForeseen(t *testing.T, source Source, near, way string, pauses bool) {
	t.Helper()
	got, pause, err := Predict(t.Context(), []Source{source}, near)
	if got != way || err != nil || (pause > 0) != pauses {
		t.Errorf("%s with a pause of %s is foreseen: %v", got, pause, err)
	}
}

// takeSnapshot copies a writer's data, by the way that is chosen, and looks at it.
func takeSnapshot(t *testing.T, source Source, near string) Taken {
	t.Helper()
	to, err := os.MkdirTemp(near, "copy")
	must(t, err)
	o := Options{Put: into(to)}
	if !source.Durable {
		o.MaxPause = plenty
	}
	taken, err := Take(t.Context(), []Source{source}, o)
	must(t, err)
	dir := source.Paths[0]
	if taken.Way != Snapshot || taken.Files < 5 || taken.Of[dir] != (Part{Snapshot, taken.Paused, taken.Bytes}) || taken.Bytes < slots*slotSize {
		t.Errorf("%+v", taken)
	}
	checkWriter(t, filepath.Join(to, filepath.Base(dir)))
	names, err := os.ReadDir(to)
	must(t, err)
	if len(names) != 1 {
		t.Errorf("beside the copy there is %v", names)
	}
	return taken
}

// What a snapshot would not have, and where it cannot lie, is copied otherwise.
func TestNoSnapshotWhereItWouldLackSomething(t *testing.T) {
	onFilesystem(t, "btrfs", func(t *testing.T, mnt string) {
		whole, apart, near := filepath.Join(mnt, "whole"), filepath.Join(mnt, "apart"), filepath.Join(mnt, "near")
		run(t, "btrfs", "subvolume", "create", whole)
		run(t, "btrfs", "subvolume", "create", apart)
		must(t, os.Mkdir(near, 0o700))
		pid := startWriter(t, whole)
		refused := func(source Source, near, why string) {
			t.Helper()
			to, err := os.MkdirTemp(near, "copy")
			must(t, err)
			_, err = Take(t.Context(), []Source{source}, Options{Put: into(to), MaxPause: plenty, Way: Snapshot})
			if forkbox.CodeOf(err) != forkbox.Unsupported || !strings.Contains(err.Error(), why) {
				t.Errorf("not because %q: %v", why, err)
			}
			taken, err := Take(t.Context(), []Source{source}, Options{Put: into(to), MaxPause: plenty})
			if err != nil || taken.Way == Snapshot {
				t.Errorf("%+v %v", taken, err)
			}
			checkWriter(t, filepath.Join(to, "whole"))
		}
		refused(Source{Name: "writer", PID: pid, Paths: []string{whole, apart}}, near, "two subvolumes")
		refused(Source{Name: "writer", PID: pid, Paths: []string{whole}}, t.TempDir(), "not on the btrfs")
		run(t, "btrfs", "subvolume", "create", filepath.Join(whole, "7-below"))
		refused(Source{Name: "writer", PID: pid, Paths: []string{whole}}, near, "7-below")
	})
}
