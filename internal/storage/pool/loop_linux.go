package pool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// loop is an open loop device.
type loop struct {
	*os.File
}

// device gives the loop device of a file, and makes one if there is none. Two
// of them would be two filesystems that know nothing of each other on the same
// blocks: the caller has the pool's lock.
func device(path string) (*loop, error) {
	if l, err := findLoop(path); l != nil || err != nil {
		return l, err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the device has its own hold on it
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	for {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("ask for a loop device: %w", err)
		}
		l, err := attach(f, fmt.Sprintf("/dev/loop%d", n))
		if !errors.Is(err, unix.EBUSY) { // another process was faster
			return l, err
		}
	}
}

// attach: the device goes when its last user does, and reads and writes past
// the page cache, where everything would be twice.
func attach(f *os.File, name string) (*loop, error) {
	dev, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	config := unix.LoopConfig{Fd: uint32(f.Fd()), Size: 4096}
	config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_DIRECT_IO
	copy(config.Info.File_name[:len(config.Info.File_name)-1], f.Name())
	err = unix.IoctlLoopConfigure(int(dev.Fd()), &config)
	if errors.Is(err, unix.EINVAL) { // the file's filesystem has bigger blocks, or cannot do it
		config.Info.Flags, config.Size = unix.LO_FLAGS_AUTOCLEAR, 0
		err = unix.IoctlLoopConfigure(int(dev.Fd()), &config)
	}
	if err != nil {
		dev.Close()
		return nil, fmt.Errorf("attach %s to %s: %w", f.Name(), name, err)
	}
	return &loop{dev}, nil
}

// findLoop is the loop device that a file has already, nil if it has none. The
// kernel is asked for the file's inode: a name can be another file's.
func findLoop(path string) (*loop, error) {
	var want unix.Stat_t
	if err := unix.Stat(path, &want); err != nil {
		return nil, err
	}
	attached, err := filepath.Glob("/sys/block/loop*/loop")
	if err != nil {
		return nil, err
	}
	for _, dir := range attached {
		name := "/dev/" + strings.ReplaceAll(filepath.Base(filepath.Dir(dir)), "!", "/")
		dev, err := os.OpenFile(name, os.O_RDONLY, 0) // closing a writable one would look like a change of it
		if err != nil {
			continue // it went
		}
		info, err := unix.IoctlLoopGetStatus64(int(dev.Fd()))
		if err == nil && info.Inode == want.Ino && info.Device == uint64(want.Dev) {
			return &loop{dev}, nil
		}
		dev.Close()
	}
	return nil, nil
}

// resize has the device be as big as its file.
func (l *loop) resize() error {
	if err := unix.IoctlSetInt(int(l.Fd()), unix.LOOP_SET_CAPACITY, 0); err != nil {
		return fmt.Errorf("resize %s: %w", l.Name(), err)
	}
	return nil
}
