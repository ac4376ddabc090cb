package change

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
)

// none is the descriptor of a directory that is not there.
const none = -1

// beneath resolves a name in an open directory and follows no symlink: both
// the box and, meanwhile, reality may have replaced anything by one.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// openDir opens a directory below another for listing.
func openDir(dir int, name string, resolve uint64) (int, error) {
	return openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY, resolve)
}

// openFile opens a file for reading. O_NONBLOCK: what was a file a moment ago
// may be a fifo now, without a process that ever writes to it.
func openFile(dir int, name string) (int, error) {
	return openat(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, beneath)
}

func openat(dir int, name string, flags, resolve uint64) (int, error) {
	return linux.OpenAt(dir, name, flags|unix.O_NOFOLLOW, resolve)
}

func closeDir(fd int) {
	if fd != none {
		unix.Close(fd)
	}
}

// lstat describes a name in an open directory.
func lstat(dir int, name string) (file, error) {
	var f file
	err := unix.Fstatat(dir, name, &f.Stat_t, unix.AT_SYMLINK_NOFOLLOW)
	return f, err
}

// born is when an inode was made; 0 where the filesystem does not say.
func born(dir int, name string) int64 {
	var st unix.Statx_t
	err := unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}

// fatal says whether err is a failure of the machine. Anything else is about
// the one file: it vanished, was replaced, or is not ours to read.
func fatal(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EIO, unix.ENOSYS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// file is what lstat says.
type file struct{ unix.Stat_t }

func (f file) format() uint32  { return f.Stat_t.Mode & unix.S_IFMT }
func (f file) isDir() bool     { return f.format() == unix.S_IFDIR }
func (f file) isRegular() bool { return f.format() == unix.S_IFREG }
func (f file) perm() uint32    { return f.Stat_t.Mode & 0o7777 }

// isWhiteout: overlayfs marks a deletion by a character device 0:0.
func (f file) isWhiteout() bool { return f.format() == unix.S_IFCHR && f.Rdev == 0 }

// bytes is the size of content. A directory's is its filesystem's affair.
func (f file) bytes() int64 {
	if f.isRegular() || f.format() == unix.S_IFLNK {
		return f.Size
	}
	return 0
}

// isSparse says whether part of the file may be a hole.
func (f file) isSparse() bool { return f.Blocks*512 < f.Size }

func (f file) modTime() time.Time { return time.Unix(f.Mtim.Unix()) }

// kinds maps the format bits to the words of [forkbox.Change] and to Go's
// bits. An array: it is asked for every file.
var kinds = [16]struct {
	name string
	bits fs.FileMode
}{
	unix.S_IFREG >> 12:  {"file", 0},
	unix.S_IFDIR >> 12:  {"dir", fs.ModeDir},
	unix.S_IFLNK >> 12:  {"symlink", fs.ModeSymlink},
	unix.S_IFIFO >> 12:  {"fifo", fs.ModeNamedPipe},
	unix.S_IFSOCK >> 12: {"socket", fs.ModeSocket},
	unix.S_IFCHR >> 12:  {"char", fs.ModeDevice | fs.ModeCharDevice},
	unix.S_IFBLK >> 12:  {"block", fs.ModeDevice},
}

func (f file) kind() string { return kinds[f.format()>>12].name }

func (f file) mode() fs.FileMode {
	m := fs.FileMode(f.Stat_t.Mode&0o777) | kinds[f.format()>>12].bits
	if f.Stat_t.Mode&unix.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if f.Stat_t.Mode&unix.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if f.Stat_t.Mode&unix.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}
