//go:build linux

package boxinit

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// OpRefresh is what is said to have failed when a refresh did.
const OpRefresh = "look at reality again"

// refreshHere does it for the mounts that init itself has.
func refreshHere() error {
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return forkbox.Wrap(OpRefresh, err)
	}
	defer mounts.Close()
	root, err := os.Open("/")
	if err != nil {
		return forkbox.Wrap(OpRefresh, err)
	}
	defer root.Close()
	return RefreshOverlays(root, mounts)
}

// RefreshOverlays makes the kernel forget what was looked up in overlays, but for
// directories that a process is in or has open: reconfiguring a filesystem begins
// with that, and here it is all that is done.
func RefreshOverlays(root, mounts *os.File) error {
	infos, err := mountinfo.GetMountsFromReader(mounts, mountinfo.FSTypeFilter("overlay"))
	if err != nil {
		return forkbox.Wrap(OpRefresh, err)
	}
	for _, info := range infos {
		if slices.Contains(strings.Split(info.VFSOptions, ","), "ro") {
			continue // nothing can be written over there
		}
		if err := refresh(root, info.Mountpoint); err != nil && !errors.Is(err, os.ErrNotExist) { // it was covered
			return forkbox.Wrap(OpRefresh, fmt.Errorf("%s: %w", info.Mountpoint, err))
		}
	}
	return nil
}

func refresh(root *os.File, point string) error {
	rel := strings.TrimPrefix(point, "/")
	if rel == "" {
		rel = "."
	}
	at, err := linux.OpenAt(int(root.Fd()), rel, unix.O_PATH, linux.Beneath)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	fs, err := unix.Fspick(at, "", unix.FSPICK_CLOEXEC|unix.FSPICK_EMPTY_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	return unix.FsconfigReconfigure(fs)
}
