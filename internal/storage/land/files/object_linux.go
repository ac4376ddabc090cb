package files

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Object is what lstat says of something, as far as the journal needs it.
type Object struct {
	forkbox.Identity
	Mode   uint32            `json:"mode"` // with the kernel's format bits
	UID    uint32            `json:"uid"`
	GID    uint32            `json:"gid"`
	Mtime  int64             `json:"mtime"`
	Nlink  uint64            `json:"nlink,omitempty"`
	Rdev   uint64            `json:"rdev,omitempty"`
	Xattrs map[string][]byte `json:"xattrs,omitempty"`
}

func (o *Object) Format() uint32  { return o.Mode & unix.S_IFMT }
func (o *Object) IsDir() bool     { return o != nil && o.Format() == unix.S_IFDIR }
func (o *Object) IsRegular() bool { return o.Format() == unix.S_IFREG }
func (o *Object) IsSymlink() bool { return o.Format() == unix.S_IFLNK }
func (o *Object) Perm() uint32    { return o.Mode & 0o7777 }

// Is says whether both are the same inode. The device is not compared: slots
// are on their target's filesystem, and overlayfs tells another device for
// the same file once it was copied up.
func (o *Object) Is(p *Object) bool {
	return o != nil && p != nil && o.Ino == p.Ino && o.Format() == p.Format()
}

// AsBefore says whether p is o with the content, the mode and the owner that
// it had. A rename changes the ctime, so that it cannot tell; a directory's own
// size and times change with its entries.
func (o *Object) AsBefore(p *Object) bool {
	return o.Is(p) && (o.IsDir() || o.SameContent(p) && SameAttrs(o, p))
}

func (o *Object) SameContent(p *Object) bool {
	return o.Format() == p.Format() && o.Size == p.Size && o.Mtime == p.Mtime
}

// Inode names a file whatever its paths are.
type Inode struct{ dev, ino uint64 }

func (o *Object) Inode() Inode { return Inode{o.Dev, o.Ino} }

// Lstat describes a name in an open directory; nil is nothing there.
func Lstat(dir int, name string) (*Object, error) {
	Glance()
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Describe(&st), nil
}

// Fstat describes what is open.
func Fstat(fd int) (*Object, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	return Describe(&st), nil
}

// Describe makes an object of what the kernel says of it.
func Describe(st *unix.Stat_t) *Object {
	return &Object{
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

// KernelMode turns Go's mode bits into the kernel's; 0 is a type that it has
// no word for.
func KernelMode(m fs.FileMode) uint32 {
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

// Node describes it in the words of the domain.
func (o *Object) Node() forkbox.Node {
	return forkbox.Node{Identity: o.Identity, Mode: fileMode(o.Mode), UID: int(o.UID), GID: int(o.GID), ModTime: time.Unix(0, o.Mtime), Nlink: o.Nlink}
}

// fileMode is the inverse of KernelMode.
func fileMode(k uint32) fs.FileMode {
	m := fs.FileMode(k & 0o777)
	switch k & unix.S_IFMT {
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	case unix.S_IFIFO:
		m |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		m |= fs.ModeSocket
	case unix.S_IFCHR:
		m |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		m |= fs.ModeDevice
	}
	if k&unix.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if k&unix.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if k&unix.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// Look describes something that is there, with its attributes.
func Look(dir int, name string) (*Object, error) {
	fd, err := Open(dir, name, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	o, err := Fstat(fd)
	if err == nil {
		o.Xattrs = Handle{Fd: fd}.Xattrs()
	}
	return o, err
}
