//go:build linux

package agent

import (
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/boxfiles"
)

// retry repeats a call that a signal broke off.
func retry[T any](call func() (T, error)) (T, error) {
	for {
		v, err := call()
		if err != unix.EINTR {
			return v, err
		}
	}
}

// statAt looks at a name in a directory, not through a symlink.
func statAt(dir int, name string) (st unix.Stat_t, err error) {
	_, err = retry(func() (int, error) { return 0, unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return st, err
}

// statPath describes what is at a path.
func statPath(path string, follow bool) (boxfiles.Info, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if follow {
		flags = 0
	}
	var st unix.Stat_t
	_, err := retry(func() (int, error) { return 0, unix.Fstatat(unix.AT_FDCWD, path, &st, flags) })
	if err != nil {
		return boxfiles.Info{}, err
	}
	info := describe([]byte(path), &st)
	if info.Type == boxfiles.Symlink {
		info.Target = readLink(unix.AT_FDCWD, path)
	}
	return info, nil
}

// readLink is where a symlink points to; nothing, where it is gone meanwhile.
func readLink(dir int, name string) []byte {
	buf := make([]byte, boxfiles.MaxPath)
	n, err := retry(func() (int, error) { return unix.Readlinkat(dir, name, buf) })
	if err != nil {
		return nil
	}
	return buf[:n]
}

var types = map[uint32]boxfiles.Type{
	unix.S_IFREG: boxfiles.File, unix.S_IFDIR: boxfiles.Directory, unix.S_IFLNK: boxfiles.Symlink, unix.S_IFIFO: boxfiles.Fifo,
	unix.S_IFSOCK: boxfiles.Socket, unix.S_IFCHR: boxfiles.Device, unix.S_IFBLK: boxfiles.Device,
}

func typeOf(st *unix.Stat_t) boxfiles.Type {
	if t, ok := types[st.Mode&unix.S_IFMT]; ok {
		return t
	}
	return boxfiles.Unknown
}

func describe(path []byte, st *unix.Stat_t) boxfiles.Info {
	return boxfiles.Info{
		Path: path, Type: typeOf(st), Mode: st.Mode & 0o7777, Size: st.Size, UID: int(st.Uid), GID: int(st.Gid),
		Modified: time.Unix(st.Mtim.Unix()).UTC(), Tag: tag(st),
	}
}

// tag changes whenever a file is written or replaced.
func tag(st *unix.Stat_t) string {
	return fmt.Sprintf("%x-%x-%x", st.Ino, st.Mtim.Nano(), st.Size)
}

// word is a number of what the kernel writes.
func word(buf []byte, i int) uint32 { return binary.NativeEndian.Uint32(buf[4*i:]) }
