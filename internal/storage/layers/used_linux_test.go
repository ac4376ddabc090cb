package layers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// TestUsedByLooking: where nothing counts, every file is looked at.
func TestUsedByLooking(t *testing.T) {
	s := open(t)
	s.holder = nil // whatever this host has
	upper := newBox(t, s, "b")
	empty, files, err := s.Used(t.Context(), "b")
	must(t, err)
	write(t, filepath.Join(upper, "f"), strings.Repeat("x", 256<<10))
	must(t, os.Link(filepath.Join(upper, "f"), filepath.Join(upper, "link")))
	must(t, os.Truncate(mustCreate(t, filepath.Join(upper, "hole")), 1<<30))
	must(t, os.Symlink("/", filepath.Join(upper, "all")))
	syncAll(t, upper)
	bytes, more, err := s.Used(t.Context(), "b")
	must(t, err)
	if grew := bytes - empty; grew < 256<<10 || grew > 256<<10+slack {
		t.Errorf("256 KiB take %d", grew)
	}
	if more-files != 3 {
		t.Errorf("3 files are %d", more-files)
	}
	must(t, s.Create(t.Context(), "idle"))
	if bytes, files, err := s.Used(t.Context(), "idle"); bytes != 0 || files != 0 || err != nil {
		t.Errorf("a box that never ran takes %d, %d, %v", bytes, files, err)
	}
}

func mustCreate(t *testing.T, path string) string {
	t.Helper()
	write(t, path, "")
	return path
}

// TestQuotaUsed: the kernel counts what was deleted and is still open, and
// files where it limits them or the caller wants to know.
func TestQuotaUsed(t *testing.T) {
	onQuotas(t, func(t *testing.T, s *Store) {
		must(t, s.Create(t.Context(), "b"))
		if bytes, _, err := s.Used(t.Context(), "b"); bytes != 0 || err != nil {
			t.Errorf("before it is started it takes %d, %v", bytes, err)
		}
		must(t, s.SetQuota(t.Context(), "b", 4*limit, 1000))
		upper, _, err := s.NewUpper("b", "/")
		must(t, err)
		f, err := os.Create(filepath.Join(upper, "gone"))
		must(t, err)
		_, err = f.Write(make([]byte, limit))
		must(t, err)
		must(t, os.Remove(f.Name()))
		for _, synced := range []bool{false, true} {
			if synced {
				unix.Sync()
			}
			bytes, files, err := s.Used(t.Context(), "b")
			// xfs sets more aside for a file that grows, and takes it back.
			if err != nil || bytes < limit || bytes > 2*limit || files < 3 || files > 5 {
				t.Errorf("synced %v: %d bytes, %d files, %v", synced, bytes, files, err)
			}
		}
		must(t, f.Close())
	})
}

// TestQuotaSaved: what a box wrote counts once, in its top or in what that became.
func TestQuotaSaved(t *testing.T) {
	onQuotas(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		must(t, s.Create(ctx, "b"))
		must(t, s.SetQuota(ctx, "b", 100*limit, -1))
		var made []string
		total := func(want int64) {
			t.Helper()
			unix.Sync()
			bytes, _, err := s.Used(ctx, "b")
			must(t, err)
			saved, err := s.Saved("b", made)
			must(t, err)
			sum := bytes + saved
			if sum < want || sum > want+1<<20 && (s.Stacks() || s.holder.Once()) {
				t.Errorf("the top takes %d and snapshots %d, want %d together", bytes, saved, want)
			}
		}
		put := func(name string) {
			t.Helper()
			upper, _, err := s.NewUpper("b", "/")
			must(t, err)
			must(t, os.WriteFile(filepath.Join(upper, name), make([]byte, 4<<20), 0o600))
		}
		save := func(layer string) {
			t.Helper()
			_, err := s.Save(ctx, "b", layer, true)
			must(t, err)
			made = append(made, layer)
		}
		put("one")
		total(4 << 20)
		save("L1")
		total(4 << 20)
		put("two")
		save("L2")
		total(8 << 20)
		must(t, s.DropTop(ctx, "b")) // back to the first
		if !s.Stacks() {
			must(t, s.Clone(ctx, "L1", "b"))
		}
		total(8 << 20)
		put("three")
		must(t, s.Shelve(ctx, "b", "L3", 1))
		made = append(made, "L3", "gone")
		total(12 << 20)
	})
}

func TestLayerBytes(t *testing.T) {
	s := open(t)
	write(t, filepath.Join(newBox(t, s, "b"), "f"), strings.Repeat("x", 256<<10))
	syncAll(t, s.home)
	_, err := s.Save(t.Context(), "b", "L", true)
	must(t, err)
	for range 2 {
		if bytes, err := s.LayerBytes("L"); err != nil || bytes < 256<<10 || bytes > 256<<10+slack {
			t.Errorf("%d, %v", bytes, err)
		}
	}
	must(t, s.RemoveLayer(t.Context(), "L"))
	if _, err := s.LayerBytes("L"); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("of no layer: %v", err)
	}
}

func TestHostFree(t *testing.T) {
	s := open(t)
	bytes, inodes, total, err := s.HostFree()
	if err != nil || bytes <= 0 || bytes > total || inodes == 0 {
		t.Errorf("%d of %d, %d inodes, %v", bytes, total, inodes, err)
	}
}
