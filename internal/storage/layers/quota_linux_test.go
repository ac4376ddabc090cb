package layers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/quota"
)

// onQuotas runs a test on filesystems whose quotas work: btrfs here, and those
// with project quotas that FORKBOX_TEST_PRJQUOTA_DIRS names (by colons).
func onQuotas(t *testing.T, do func(t *testing.T, s *Store)) {
	t.Run("btrfs", func(t *testing.T) {
		onFilesystem(t, "btrfs", func(mnt string) {
			_, err := quota.Enable(t.Context(), mnt)
			must(t, err)
			do(t, place{mnt, "btrfs"}.open(t))
		}, "-q")
	})
	t.Run("projects", func(t *testing.T) {
		dirs := os.Getenv("FORKBOX_TEST_PRJQUOTA_DIRS")
		if dirs == "" {
			t.Skip("FORKBOX_TEST_PRJQUOTA_DIRS names no filesystem with project quotas")
		}
		withoutPrivilege(t)
		for _, dir := range strings.Split(dirs, ":") {
			t.Run(filepath.Base(dir), func(t *testing.T) { do(t, place{dir, "overlay"}.open(t)) })
		}
	})
}

// withoutPrivilege gives up what lets root pass limits on ext4. Boxes never
// have it: overlayfs writes without it, as root or not.
func withoutPrivilege(t *testing.T) {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	must(t, unix.Capget(&header, &data[0]))
	data[0].Effective &^= 1 << unix.CAP_SYS_RESOURCE
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0); errno != 0 {
		t.Fatal(errno)
	}
}

const limit = 16 << 20

// fillUp writes to a directory until it is refused, and tells how much went.
func fillUp(t *testing.T, dir string) (written int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "fill"))
	for err == nil && written < 4*limit {
		var n int
		n, err = f.Write(make([]byte, 64<<10))
		written += int64(n)
	}
	if !errors.Is(err, unix.EDQUOT) && !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("after %d bytes: %v", written, err)
	}
	if f != nil {
		must(t, f.Close())
	}
	return written
}

// wantLimited: what is written there meets the limit, and it is about that.
func wantLimited(t *testing.T, dir string) {
	t.Helper()
	if n := fillUp(t, dir); n > limit || n < limit-3<<20 {
		t.Errorf("%s took %d bytes, its limit is %d", dir, n, limit)
	}
	must(t, os.Remove(filepath.Join(dir, "fill")))
	unix.Sync()
}

func wantFree(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(dir, "free")
	must(t, os.WriteFile(file, make([]byte, 2*limit), 0o600))
	f, err := os.Open(file)
	must(t, err)
	must(t, f.Sync())
	must(t, f.Close())
	must(t, os.Remove(file))
}

func TestQuotaHolds(t *testing.T) {
	onQuotas(t, func(t *testing.T, s *Store) {
		disk, inodes := s.Quota()
		if disk.How != forkbox.Enforced || !s.Counts() {
			t.Fatalf("%+v", disk)
		}
		if inodes.How != forkbox.Enforced && (inodes.How != forkbox.Watched || inodes.Why == "" || inodes.Hint == "") {
			t.Errorf("%+v", inodes)
		}
		must(t, s.Create(t.Context(), "before"))
		must(t, s.SetQuota(t.Context(), "before", limit, -1)) // it has no top yet
		before, _, err := s.NewUpper("before", "/")
		must(t, err)
		wantLimited(t, before)
		after := newBox(t, s, "after") // like one that took over a spare
		wantFree(t, after)
		write(t, filepath.Join(after, "f"), "text")
		must(t, s.SetQuota(t.Context(), "after", limit, -1))
		wantLimited(t, after)
		must(t, s.SetQuota(t.Context(), "after", -1, -1))
		wantFree(t, after)
		wantFree(t, newBox(t, s, "other"))
		must(t, s.Remove(t.Context(), "before"))
		must(t, s.Remove(t.Context(), "after"))
	})
}

// TestQuotaFollows: it holds for the box whatever its top becomes, and never
// for a layer.
func TestQuotaFollows(t *testing.T) {
	onQuotas(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		must(t, s.Create(ctx, "b"))
		must(t, s.SetQuota(ctx, "b", limit, -1))
		top := func() string {
			dir, _, err := s.NewUpper("b", "/")
			must(t, err)
			must(t, s.SetQuota(ctx, "b", limit, -1)) // without the room for a start
			return dir
		}
		_, err := s.Save(ctx, "b", "empty", true)
		must(t, err)
		write(t, filepath.Join(top(), "f"), "text")
		_, err = s.Save(ctx, "b", "saved", true)
		must(t, err)
		wantLimited(t, top())
		wantUnlimitedLayer(t, s, "saved")
		fillUp(t, top()) // no room for a note, or to begin anew
		must(t, s.Shelve(ctx, "b", "shelved", 1))
		wantUnlimitedLayer(t, s, "shelved")
		wantLimited(t, top())
		must(t, s.DropTop(ctx, "b"))
		must(t, s.Unshelve(ctx, "shelved", "b"))
		must(t, os.Remove(filepath.Join(top(), "fill")))
		unix.Sync()
		wantLimited(t, top())
		must(t, s.DropTop(ctx, "b"))
		must(t, s.Clone(ctx, "saved", "b"))
		wantLimited(t, top())
		must(t, s.Remove(ctx, "b"))
		must(t, s.EmptyTrash(ctx))
	})
}

func wantUnlimitedLayer(t *testing.T, s *Store, layer string) {
	t.Helper()
	bytes, files, err := s.holder.Limits(s.layer(layer))
	if errors.Is(err, quota.ErrUncounted) {
		return
	}
	if err != nil || bytes != quota.None || files != quota.None {
		t.Errorf("the layer %s is limited to %d, %d, %v", layer, bytes, files, err)
	}
}

// TestQuotaFullBoxStarts: overlayfs finds room for what it needs, however full the
// box is; what is in it can be deleted then.
func TestQuotaFullBoxStarts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	onQuotas(t, func(t *testing.T, s *Store) {
		must(t, s.Create(t.Context(), "b"))
		must(t, s.SetQuota(t.Context(), "b", limit, -1))
		base := realBase(t)
		for range 3 {
			inPrivateMounts(t, func() error {
				merged := t.TempDir()
				must(t, mountBox(t, s, "b", base, merged))
				must(t, s.SetQuota(t.Context(), "b", limit, -1))
				_ = os.Remove(filepath.Join(merged, "fill")) // of the last round
				unix.Sync()
				if n := fillUp(t, merged); n > limit || n < limit-3<<20 {
					t.Errorf("it took %d bytes", n)
				}
				unix.Sync()
				bytes, _, err := s.Used(t.Context(), "b")
				if err != nil || bytes > limit+64<<10 || bytes < limit-3<<20 {
					t.Errorf("Used = %d, %v", bytes, err)
				}
				for n := range 10000 { // to the last byte
					if os.WriteFile(filepath.Join(merged, "kept", fmt.Sprint(n%100, "-", n)), make([]byte, 900), 0o600) != nil {
						break
					}
				}
				return unix.Unmount(merged, 0)
			})
			must(t, cleanUpper(s))
		}
		must(t, s.Remove(t.Context(), "b"))
	})
}

// cleanUpper deletes the small files, so that the next round has its room.
func cleanUpper(s *Store) error {
	files, err := filepath.Glob(filepath.Join(s.Upper("b"), "-", "kept", "*-*"))
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	return err
}

func TestQuotaRefused(t *testing.T) {
	s := open(t)
	create(t, s, "b")
	for what, c := range map[string]struct {
		err  error
		want forkbox.Code
	}{
		"no box":   {s.SetQuota(t.Context(), "nobody", 1, 1), forkbox.NotFound},
		"a path":   {s.SetQuota(t.Context(), "../b", 1, 1), forkbox.Invalid},
		"negative": {s.SetQuota(t.Context(), "b", -2, 1), forkbox.Invalid},
	} {
		if c.err == nil || forkbox.CodeOf(c.err) != c.want {
			t.Errorf("%s: %v, want %s", what, c.err, c.want)
		}
	}
	if _, _, err := s.Used(t.Context(), "nobody"); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("Used of no box: %v", err)
	}
}

// neverCalled fails when a box without limits has the kernel asked for any.
type neverCalled struct {
	quota.Holder // nil: a call is a panic
}

func (neverCalled) Files() bool { return true }

// TestNoQuotaNoCost: making, starting and removing a box that has no limit is
// what it was.
func TestNoQuotaNoCost(t *testing.T) {
	s := open(t)
	s.holder = neverCalled{}
	ctx := context.Background()
	newBox(t, s, "b")
	must(t, s.SetQuota(ctx, "b", -1, -1))
	_, err := s.Save(ctx, "b", "L", true)
	must(t, err)
	must(t, s.Clone(ctx, "L", "b"))
	must(t, s.Shelve(ctx, "b", "M", 1))
	must(t, s.Unshelve(ctx, "M", "b"))
	must(t, s.DropTop(ctx, "b"))
	must(t, s.Remove(ctx, "b"))
}
