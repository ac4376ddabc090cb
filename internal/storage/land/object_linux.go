package land

import (
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// object is what lstat says of something, as far as the journal needs it.
type object struct {
	forkbox.Identity
	Mode   uint32            `json:"mode"` // with the kernel's format bits
	UID    uint32            `json:"uid"`
	GID    uint32            `json:"gid"`
	Mtime  int64             `json:"mtime"`
	Nlink  uint64            `json:"nlink,omitempty"`
	Rdev   uint64            `json:"rdev,omitempty"`
	Xattrs map[string][]byte `json:"xattrs,omitempty"`
}

func (o *object) format() uint32  { return o.Mode & unix.S_IFMT }
func (o *object) isDir() bool     { return o != nil && o.format() == unix.S_IFDIR }
func (o *object) isRegular() bool { return o.format() == unix.S_IFREG }
func (o *object) isSymlink() bool { return o.format() == unix.S_IFLNK }
func (o *object) perm() uint32    { return o.Mode & 0o7777 }

// is says whether both are the same inode. The device is not compared: slots
// are on their target's filesystem, and overlayfs tells another device for
// the same file once it was copied up.
func (o *object) is(p *object) bool {
	return o != nil && p != nil && o.Ino == p.Ino && o.format() == p.format()
}

// asBefore says whether p is o with the content, the mode and the owner that
// it had. A rename changes the ctime, so that it cannot tell; a directory's own
// size and times change with its entries.
func (o *object) asBefore(p *object) bool {
	return o.is(p) && (o.isDir() || o.sameContent(p) && sameAttrs(o, p))
}

func (o *object) sameContent(p *object) bool {
	return o.format() == p.format() && o.Size == p.Size && o.Mtime == p.Mtime
}

// inode names a file whatever its paths are.
type inode struct{ dev, ino uint64 }

func (o *object) inode() inode { return inode{o.Dev, o.Ino} }

// lstat describes a name in an open directory; nil is nothing there.
func lstat(dir int, name string) (*object, error) {
	glance()
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return describe(&st), nil
}

func fstat(fd int) (*object, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	return describe(&st), nil
}

func describe(st *unix.Stat_t) *object {
	return &object{
		Identity: forkbox.Identity{Dev: uint64(st.Dev), Ino: st.Ino, Ctime: st.Ctim.Nano(), Size: st.Size},
		Mode:     st.Mode, UID: st.Uid, GID: st.Gid, Mtime: st.Mtim.Nano(),
		Nlink: uint64(st.Nlink), Rdev: uint64(st.Rdev),
	}
}

var formats = map[fs.FileMode]uint32{
	0:                                 unix.S_IFREG,
	fs.ModeDir:                        unix.S_IFDIR,
	fs.ModeSymlink:                    unix.S_IFLNK,
	fs.ModeNamedPipe:                  unix.S_IFIFO,
	fs.ModeSocket:                     unix.S_IFSOCK,
	fs.ModeDevice | fs.ModeCharDevice: unix.S_IFCHR,
	fs.ModeDevice:                     unix.S_IFBLK,
}

// kernelMode turns Go's mode bits into the kernel's; 0 is a type that it has
// no word for.
func kernelMode(m fs.FileMode) uint32 {
	format := formats[m.Type()]
	if format == 0 {
		return 0
	}
	mode := format | uint32(m.Perm())
	for bit, k := range map[fs.FileMode]uint32{
		fs.ModeSetuid: unix.S_ISUID, fs.ModeSetgid: unix.S_ISGID, fs.ModeSticky: unix.S_ISVTX,
	} {
		if m&bit != 0 {
			mode |= k
		}
	}
	return mode
}
