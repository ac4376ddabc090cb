package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/scripts/vm/plan"
)

// rootDevice is the first disk of the machine.
const rootDevice = "/dev/vda"

// enterRoot goes from the initramfs to the root disk. It is a real disk and
// mount because a box is a fork of the machine: nothing can be pivoted away
// from an initramfs, and overlayfs wants more of a filesystem than it has.
func enterRoot() error {
	if err := mount("devtmpfs", "/dev", "devtmpfs", ""); err != nil {
		return err
	}
	if err := loadModules(); err != nil {
		return err
	}
	if err := await(rootDevice); err != nil {
		return err
	}
	if err := mount(rootDevice, "/root", "ext4", ""); err != nil {
		return err
	}
	if err := unix.Mount("/dev", "/root/dev", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("cannot move /dev to the root disk: %w", err)
	}
	return switchRoot("/root")
}

func switchRoot(dir string) error {
	if err := os.Chdir(dir); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("cannot make %s the root: %w", dir, err)
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return os.Chdir("/")
}

// loadModules loads what the initramfs brings: just enough to reach the root
// disk. All others are there, and are loaded when they are needed.
func loadModules() error {
	files, err := filepath.Glob(plan.Modules + "/*")
	if err != nil {
		return err
	}
	for _, file := range files { // Glob sorts
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		f.Close()
		if err != nil {
			return fmt.Errorf("cannot load %s: %w", file, err)
		}
	}
	return nil
}

// await waits for a device that a driver is still finding.
func await(device string) error {
	for range 600 {
		if _, err := os.Stat(device); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("%s does not appear", device)
}

func mount(source, dir, kind, options string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(source, dir, kind, 0, options); err != nil {
		return fmt.Errorf("cannot mount %s on %s as %s with %q: %w", source, dir, kind, options, err)
	}
	return nil
}
