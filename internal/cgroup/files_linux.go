package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The kernel's files are read and written with plain system calls: package os
// would ask to be woken when they change, which these can, and doubles the
// cost of what happens for every exec.

// read is a whole file of the kernel's.
func read(file string) (string, error) {
	fd, err := open(file, unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var text []byte
	buf := make([]byte, 4096)
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return "", &os.PathError{Op: "read", Path: file, Err: err}
		case n == 0:
			return string(text), nil
		}
		text = append(text, buf[:n]...)
	}
}

// write gives the kernel a value, in one write as it demands.
func write(file, value string) error {
	fd, err := open(file, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return writeTo(fd, file, value)
}

func writeTo(fd int, file, value string) error {
	for {
		_, err := unix.Write(fd, []byte(value))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "write " + strconv.Quote(value) + " to", Path: file, Err: err}
		}
		return nil
	}
}

func open(file string, flags int) (int, error) {
	for {
		fd, err := unix.Open(file, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return -1, &os.PathError{Op: "open", Path: file, Err: err}
		}
		return fd, nil
	}
}

// readIn is a file of a group, "" if there is none, or no such group. Unlike
// lists of processes these are written in one go: what does not fill the buffer
// was all, and the kernel need not be asked whether there is more.
func readIn(dir, file string) string {
	if dir == "" {
		return ""
	}
	fd, err := open(dir+"/"+file, unix.O_RDONLY)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var text []byte
	buf := make([]byte, 1024)
	for {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n = max(n, 0); n < len(buf) {
			return string(append(text, buf[:n]...))
		}
		text = append(text, buf...)
	}
}

// readNumber is a file of one number, 0 if there is none.
func readNumber(dir, file string) int64 {
	v, _ := number(readIn(dir, file))
	return v
}

// readKey is one number of a file that has several by key, 0 if it has not.
func readKey(dir, file, key string) int64 { return keyed(readIn(dir, file), key) }

// sum adds up a number of several groups.
func sum(dirs []string, file, key string) (total int64) {
	for _, dir := range dirs {
		total += readKey(dir, file, key)
	}
	return total
}

func exists(dir, file string) bool {
	return unix.Faccessat(unix.AT_FDCWD, dir+"/"+file, unix.F_OK, 0) == nil
}

// writable says whether this process may write to a file or directory.
func writable(file string) error {
	err := unix.Faccessat(unix.AT_FDCWD, file, unix.W_OK, unix.AT_EACCESS)
	if err != nil {
		return &os.PathError{Op: "write to", Path: file, Err: err}
	}
	return nil
}

// children names the groups below one. As in most filesystems of the kernel's a
// directory has two links more than there are directories in it: as a rule there
// are none, and the many files beside them need not be listed.
func children(dir string) (names []string, err error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil || st.Nlink == 2 {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// walk calls visit with a group's directory and all below it, leaves first. A
// directory that goes away meanwhile is no error.
func walk(dir string, visit func(dir string) error) error {
	names, err := children(dir)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := walk(filepath.Join(dir, name), visit); err != nil {
			return err
		}
	}
	return visit(dir)
}

// tally is a number that we keep with a group, in an attribute of its
// directory: it is there as long as the group.
func tally(dir, name string) int64 {
	buf := make([]byte, 32)
	n, err := unix.Getxattr(dir, "user.forkbox."+name, buf)
	if err != nil {
		return 0
	}
	v, _ := strconv.ParseInt(strings.TrimSpace(string(buf[:n])), 10, 64)
	return v
}

// setTally is best effort: kernels before 5.7 keep no attributes here.
func setTally(dir, name string, v int64) {
	_ = unix.Setxattr(dir, "user.forkbox."+name, strconv.AppendInt(nil, v, 10), 0)
}
