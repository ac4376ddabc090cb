package quota

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func volume(t *testing.T, path string) string {
	t.Helper()
	command(t, "btrfs", "subvolume", "create", path)
	return path
}

// near: metadata comes in blocks of 16 KiB, and the kernel sets some aside.
func near(t *testing.T, what string, got, want int64) {
	t.Helper()
	if got > want+64<<10 || got < want-2<<20 {
		t.Errorf("%s: %d, want about %d", what, got, want)
	}
}

func TestBtrfsHoldsHogs(t *testing.T) {
	onBtrfs(t, func(mnt string) {
		_, err := Enable(t.Context(), mnt)
		must(t, err)
		h, err := Find(mnt)
		must(t, err)
		t.Log(h.Name())
		free := volume(t, filepath.Join(mnt, "free"))
		for name, hog := range hogs {
			dir := volume(t, filepath.Join(mnt, name))
			const limit = 4 << 20
			must(t, h.Limit(dir, limit, None))
			open, err := hog(dir)
			if !full(err) {
				t.Errorf("%s: %v", name, err)
			}
			unix.Sync()
			used, _, err := h.Used(dir)
			must(t, err)
			near(t, name, used, limit)
			neighbour(t, free)
			moreRoom(t, h, dir, limit)
			if open != nil {
				must(t, open.Close())
			}
		}
	})
}

// moreRoom: a limit that is raised, or lifted, lets writers go on; one below
// what there is keeps it and lets things be deleted.
func moreRoom(t *testing.T, h Holder, dir string, limit int64) {
	t.Helper()
	more := filepath.Join(dir, "more")
	must(t, h.Limit(dir, 2*limit, None))
	if bytes, files, err := h.Limits(dir); err != nil || bytes != 2*limit || files != None {
		t.Errorf("Limits = %d, %d, %v", bytes, files, err)
	}
	must(t, os.WriteFile(more, block, 0o600))
	must(t, h.Limit(dir, limit/2, None))
	f, err := os.Create(filepath.Join(dir, "most"))
	if err == nil {
		err = errors.Join(fill(f), f.Close())
	}
	if !full(err) {
		t.Errorf("over a lower limit: %v", err)
	}
	must(t, os.Remove(more))
	must(t, h.Lift(dir))
	if bytes, _, err := h.Limits(dir); err != nil || bytes != None {
		t.Errorf("lifted, the limit is %d, %v", bytes, err)
	}
	must(t, os.WriteFile(more, block, 0o600))
}

// TestBtrfsSnapshots: a snapshot can do without the limit of what it was made
// of, and what is deleted leaves no quota group.
func TestBtrfsSnapshots(t *testing.T) {
	onBtrfs(t, func(mnt string) {
		_, err := Enable(t.Context(), mnt)
		must(t, err)
		h, err := Find(mnt)
		must(t, err)
		dir := volume(t, filepath.Join(mnt, "top"))
		must(t, h.Limit(dir, 8<<20, None))
		_, err = bigFile(dir)
		if !full(err) {
			t.Fatal(err)
		}
		snapshot := filepath.Join(mnt, "layer")
		command(t, "btrfs", "subvolume", "snapshot", dir, snapshot)
		must(t, h.Lift(snapshot))
		if bytes, _, err := h.Limits(snapshot); err != nil || bytes != None {
			t.Errorf("the snapshot is limited to %d, %v", bytes, err)
		}
		a, err := h.ID(dir)
		must(t, err)
		if b, err := h.ID(snapshot); err != nil || a == b {
			t.Errorf("both are counted as %d and %d, %v", a, b, err)
		}
		must(t, os.WriteFile(filepath.Join(snapshot, "more"), block, 0o600))
		command(t, "btrfs", "subvolume", "delete", "-c", dir)
		command(t, "btrfs", "subvolume", "delete", "-c", snapshot)
		command(t, "btrfs", "subvolume", "sync", mnt)
		unix.Sync()
		must(t, h.Sweep())
		if left, _ := filepath.Glob(filepath.Join(h.(*btrfs).groups, "0_2*")); len(left) > 0 {
			t.Errorf("quota groups are left: %q", left)
		}
	})
}

func TestBtrfsWithoutQuotas(t *testing.T) {
	onBtrfs(t, func(mnt string) {
		var missing *Missing
		if h, err := Find(mnt); !errors.As(err, &missing) || missing.Hint == "" {
			t.Fatalf("%v, %v", h, err)
		}
		simple, err := Enable(t.Context(), mnt)
		must(t, err)
		again, err := Enable(t.Context(), mnt)
		if err != nil || again != simple {
			t.Errorf("enabled again: %v, %v", again, err)
		}
		h, err := Find(mnt)
		must(t, err)
		plain := filepath.Join(mnt, "plain")
		must(t, os.Mkdir(plain, 0o755))
		if err := h.Limit(plain, 1<<20, None); !errors.Is(err, ErrUncounted) {
			t.Errorf("a plain directory: %v", err)
		}
		link := filepath.Join(mnt, "link")
		must(t, os.Symlink(volume(t, filepath.Join(mnt, "v")), link))
		if err := h.Limit(link, 1<<20, None); err == nil {
			t.Error("it followed a symlink")
		}
	})
}
