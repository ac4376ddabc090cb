package contained

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mount puts the container's files together, where only its processes see them so.
func (c *container) mount() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to itself: %w", err)
	}
	// Not before: a descriptor from the other namespace leads to its mounts.
	var err error
	if c.root, err = unix.Open(Root(c.base), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return &os.PathError{Op: "open", Path: Root(c.base), Err: err}
	}
	for _, dir := range []string{"/proc", "/dev", "/sys"} {
		if err := c.place(Mount{Source: dir, Target: dir}); err != nil {
			return err
		}
	}
	for _, m := range c.Mounts {
		if m.Source != "" && !exists(m.Source) {
			fmt.Fprintf(os.Stderr, "forkbox: %s of the machine is not in this box: the container finds nothing at %s\n", m.Source, m.Target)
			continue
		}
		if err := c.place(m); err != nil {
			return err
		}
	}
	return nil
}

// place mounts one thing. Where it goes is what the container finds at the path.
func (c *container) place(m Mount) error {
	if err := c.makeTarget(m); err != nil {
		return err
	}
	at, err := c.open(m.Target)
	if err != nil {
		return &os.PathError{Op: "open", Path: m.Target, Err: err}
	}
	defer unix.Close(at)
	target := "/proc/self/fd/" + strconv.Itoa(at)
	if m.Source == "" {
		err = unix.Mount("tmpfs", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	} else {
		err = unix.Mount(m.Source, target, "", unix.MS_BIND|unix.MS_REC, "")
	}
	if err != nil {
		return fmt.Errorf("mount %s at %s: %w", m.Source, m.Target, err)
	}
	if m.ReadOnly {
		return c.readOnly(m.Target)
	}
	return nil
}

// readOnly takes the right to write to what was mounted at a path.
func (c *container) readOnly(path string) error {
	at, err := c.open(path)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	err = unix.MountSetattr(at, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if err != nil {
		return fmt.Errorf("have %s not be written to: %w", path, err)
	}
	return nil
}

// makeTarget makes what is mounted on, where the container lacks it: a directory,
// or a file for a file.
func (c *container) makeTarget(m Mount) error {
	if m.Source == "" {
		return c.makeDir(m.Target)
	}
	st, err := os.Stat(m.Source)
	if err != nil {
		return err
	}
	if st.IsDir() {
		return c.makeDir(m.Target)
	}
	if err := c.makeDir(filepath.Dir(m.Target)); err != nil {
		return err
	}
	return c.in(filepath.Dir(m.Target), func(dir int) error {
		fd, err := unix.Openat(dir, filepath.Base(m.Target), unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
		if err == unix.EEXIST {
			return nil
		}
		if err == nil {
			unix.Close(fd)
		}
		return err
	})
}

// makeDir makes a directory in the container with those that lead to it.
func (c *container) makeDir(path string) error {
	at := "/"
	for name := range strings.SplitSeq(strings.Trim(filepath.Clean("/"+path), "/"), "/") {
		next := filepath.Join(at, name)
		if fd, err := c.open(next); err == nil {
			unix.Close(fd)
		} else if err := c.in(at, func(dir int) error { return unix.Mkdirat(dir, name, 0o755) }); err != nil {
			return &os.PathError{Op: "mkdir", Path: next, Err: err}
		}
		at = next
	}
	return nil
}

// in does something with a directory of the container.
func (c *container) in(path string, do func(dir int) error) error {
	fd, err := c.open(path)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd)
}

// writeNames has the container resolve names as the box does, and its own.
func (c *container) writeNames() error {
	if err := c.makeDir("/etc"); err != nil {
		return err
	}
	hosts, err := os.ReadFile("/etc/hosts")
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if c.Hostname != "" {
		hosts = append(hosts, "127.0.0.1\t"+c.Hostname+"\n"...)
	}
	resolv, _ := os.ReadFile("/etc/resolv.conf")
	for name, text := range map[string]string{
		"hosts": string(hosts), "resolv.conf": string(resolv), "hostname": c.Hostname + "\n",
	} {
		if err := c.write("/etc", name, text); err != nil {
			return &os.PathError{Op: "write", Path: "/etc/" + name, Err: err}
		}
	}
	return nil
}

// write replaces a file of the container.
func (c *container) write(dir, name, text string) error {
	return c.in(dir, func(dir int) error {
		if err := unix.Unlinkat(dir, name, 0); err != nil && err != unix.ENOENT {
			return err
		}
		fd, err := unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), name)
		_, err = f.WriteString(text)
		if closed := f.Close(); err == nil {
			err = closed
		}
		return err
	})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
