package quota

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// onProjects runs a test on the filesystems with project quotas that
// FORKBOX_TEST_PRJQUOTA_DIRS names (by colons). Few kernels for virtual
// machines have them.
func onProjects(t *testing.T, do func(t *testing.T, h Holder, dir string)) {
	dirs := os.Getenv("FORKBOX_TEST_PRJQUOTA_DIRS")
	if dirs == "" {
		t.Skip("FORKBOX_TEST_PRJQUOTA_DIRS names no filesystem with project quotas")
	}
	unprivileged(t)
	for _, dir := range strings.Split(dirs, ":") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			dir, err := os.MkdirTemp(dir, "quota-")
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(dir) })
			h, err := Find(dir)
			must(t, err)
			do(t, h, dir)
		})
	}
}

// unprivileged gives up what lets root pass limits on ext4. Boxes never have
// it: overlayfs writes without it, as root or not.
func unprivileged(t *testing.T) {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	must(t, unix.Capget(&header, &data[0]))
	data[0].Effective &^= 1 << unix.CAP_SYS_RESOURCE
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0); errno != 0 {
		t.Fatal(errno)
	}
}

func tree(t *testing.T, path string) string {
	t.Helper()
	must(t, os.Mkdir(path, 0o700))
	return path
}

func TestProjectsHoldHogs(t *testing.T) {
	onProjects(t, func(t *testing.T, h Holder, root string) {
		free := tree(t, filepath.Join(root, "free"))
		for name, hog := range hogs {
			if name == "directories" {
				continue // xfs has room for small ones in their inodes, which are limited by number
			}
			dir := tree(t, filepath.Join(root, name))
			const limit = 4 << 20
			must(t, h.Limit(dir, limit, None))
			below := tree(t, filepath.Join(dir, "below"))
			open, err := hog(below)
			if !full(err) {
				t.Errorf("%s: %v", name, err)
			}
			unix.Sync()
			used, files, err := h.Used(dir)
			must(t, err)
			near(t, name, used, limit)
			if files < 2 {
				t.Errorf("%s: %d files", name, files)
			}
			neighbour(t, free)
			moreRoom(t, h, dir, limit)
			if open != nil {
				must(t, open.Close())
			}
		}
	})
}

func TestProjectsCountFiles(t *testing.T) {
	onProjects(t, func(t *testing.T, h Holder, root string) {
		dir := tree(t, filepath.Join(root, "few"))
		must(t, h.Limit(dir, None, 100))
		n := 0
		var err error
		for ; err == nil && n < 1000; n++ {
			err = os.Symlink("x", filepath.Join(dir, fmt.Sprint(n)))
		}
		if !full(err) || n != 100 { // 99 and the directory, and one that was refused
			t.Errorf("after %d files: %v", n, err)
		}
		if _, files, err := h.Used(dir); files != 100 || err != nil {
			t.Errorf("%d files are used, %v", files, err)
		}
	})
}

// TestProjectsTakeOver: a tree with files in it, as of a box that had no limit
// so far, is counted with them, and can be moved about as a whole.
func TestProjectsTakeOver(t *testing.T) {
	onProjects(t, func(t *testing.T, h Holder, root string) {
		dir := tree(t, filepath.Join(root, "top"))
		if _, _, err := h.Used(dir); !errors.Is(err, ErrUncounted) {
			t.Errorf("Used of a plain directory: %v", err)
		}
		deep := tree(t, filepath.Join(tree(t, filepath.Join(dir, "a\nb")), "c"))
		must(t, os.WriteFile(filepath.Join(deep, "f"), block, 0o600))
		must(t, os.Symlink("/", filepath.Join(deep, "all")))
		must(t, unix.Mkfifo(filepath.Join(deep, "pipe"), 0o600))
		must(t, h.Limit(dir, 8<<20, 1000))
		unix.Sync()
		if bytes, files, err := h.Used(dir); bytes < int64(len(block)) || files < 4 || err != nil {
			t.Errorf("%d bytes, %d files, %v", bytes, files, err)
		}
		if _, err := bigFile(deep); !full(err) {
			t.Errorf("%v", err)
		}
		shelf := tree(t, filepath.Join(root, "shelf"))
		must(t, os.Rename(dir, filepath.Join(shelf, "layer")))
		must(t, h.Lift(filepath.Join(shelf, "layer")))
		next := tree(t, dir)
		must(t, h.Limit(next, 8<<20, None))
		a, err := h.ID(next)
		must(t, err)
		if b, err := h.ID(filepath.Join(shelf, "layer")); a == b || err != nil {
			t.Errorf("both are project %#x, %v", a, err)
		}
		must(t, os.RemoveAll(filepath.Join(shelf, "layer")))
	})
}

func TestFindNothing(t *testing.T) {
	h, err := Find("/proc")
	var missing *Missing
	if h != nil || !errors.As(err, &missing) || missing.Why == "" {
		t.Errorf("%v, %v", h, err)
	}
}
