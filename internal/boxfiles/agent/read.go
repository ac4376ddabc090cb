//go:build linux

package agent

import (
	"encoding/json"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/boxfiles"
)

// mostEndless is how much is read of a file whose size the kernel does not tell:
// what /proc has is far less, and some of it never ends.
const mostEndless = 64 << 20

// openFile opens a regular file to read it. Whatever else is there is not even
// opened, since that alone can block, or tell another process that a reader is
// there; should it change in between, the open does not wait, and what it opened
// is looked at again.
func openFile(dir int, name string, flags int) (*os.File, unix.Stat_t, error) {
	var st unix.Stat_t
	look := 0
	if flags&unix.O_NOFOLLOW != 0 {
		look = unix.AT_SYMLINK_NOFOLLOW
	}
	if _, err := retry(func() (int, error) { return 0, unix.Fstatat(dir, name, &st, look) }); err != nil {
		return nil, st, err
	}
	if err := onlyFile(&st); err != nil {
		return nil, st, err
	}
	fd, err := retry(func() (int, error) {
		return unix.Openat(dir, name, flags|unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, st, err
	}
	file := os.NewFile(uintptr(fd), name)
	if err = unix.Fstat(fd, &st); err == nil {
		err = onlyFile(&st)
	}
	if err != nil {
		file.Close()
		return nil, st, err
	}
	return file, st, nil
}

// onlyFile refuses what is no regular file, by what it is.
func onlyFile(st *unix.Stat_t) error {
	switch typeOf(st) {
	case boxfiles.File:
		return nil
	case boxfiles.Directory:
		return unix.EISDIR
	case boxfiles.Device:
		return refuse("a device")
	case boxfiles.Fifo:
		return refuse("a named pipe")
	case boxfiles.Socket:
		return refuse("a socket")
	}
	return refuse("something else")
}

// read opens a file and sends the spans of it that are asked for.
func (s *session) read(path string) error {
	file, st, err := openFile(unix.AT_FDCWD, path, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	info := describe([]byte(path), &st)
	info.Endless = st.Size == 0 && made(file)
	if err := s.Say(boxfiles.Message, info); err != nil {
		return errGone
	}
	buf := make([]byte, boxfiles.DataFrame)
	for {
		var want boxfiles.Span
		kind, body, err := s.Next()
		if err != nil {
			return errGone
		}
		if kind != boxfiles.Message || json.Unmarshal(body, &want) != nil || want.Offset < 0 || want.Length < 0 {
			return forkbox.Errorf(forkbox.Invalid, "", "the daemon asked for what makes no sense")
		}
		if info.Endless {
			want.Length = min(want.Length, max(0, mostEndless-want.Offset))
		}
		sent, err := s.sendSpan(file, want, buf)
		if err != nil {
			return err
		}
		if s.Say(boxfiles.Message, boxfiles.Span{Offset: want.Offset, Length: sent}) != nil {
			return errGone
		}
	}
}

func (s *session) sendSpan(file *os.File, want boxfiles.Span, buf []byte) (sent int64, err error) {
	for sent < want.Length {
		n, err := file.ReadAt(buf[:min(int64(len(buf)), want.Length-sent)], want.Offset+sent)
		if n > 0 {
			if s.Put(boxfiles.Data, buf[:n]) != nil {
				return sent, errGone
			}
			sent += int64(n)
		}
		if err == io.EOF {
			return sent, nil
		}
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// made says whether the kernel makes a file's content when it is read.
func made(file *os.File) bool {
	var fs unix.Statfs_t
	if unix.Fstatfs(int(file.Fd()), &fs) != nil {
		return false
	}
	switch int64(fs.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC:
		return true
	}
	return false
}
