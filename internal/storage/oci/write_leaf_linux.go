package oci

import (
	"archive/tar"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
)

// schily is what the name of an extended attribute has before it in a tar.
const schily = "SCHILY.xattr."

// leaf writes what is no directory.
func (w *layerWriter) leaf(f *folder, name, path string, st *unix.Stat_t) error {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFSOCK:
		w.left.Sockets++
		return nil
	case unix.S_IFCHR, unix.S_IFBLK:
		w.left.Devices++ // a runtime of the image makes its own, and we refuse them ourselves
		return nil
	}
	if st.Nlink > 1 {
		key := inode{uint64(st.Dev), st.Ino}
		if first, ok := w.links[key]; ok {
			return w.link(path, first, st)
		}
		w.links[key] = path
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return w.file(f, name, path)
	case unix.S_IFLNK:
		return w.symlink(f, name, path, st)
	}
	h, err := w.header(f, name, path, st)
	if err != nil {
		return err
	}
	h.Typeflag = tar.TypeFifo
	return w.put(h)
}

func (w *layerWriter) link(path, first string, st *unix.Stat_t) error {
	h := w.plainHeader(path, st)
	h.Typeflag, h.Linkname = tar.TypeLink, first
	return w.put(h)
}

func (w *layerWriter) symlink(f *folder, name, path string, st *unix.Stat_t) error {
	h, err := w.header(f, name, path, st)
	if err != nil {
		return err
	}
	h.Typeflag = tar.TypeSymlink
	if h.Linkname, err = readlink(f.fd, name); err != nil {
		return unwritten(path, err)
	}
	return w.put(h)
}

func (w *layerWriter) file(f *folder, name, path string) error {
	// O_NONBLOCK: should it be a fifo by now.
	fd, err := open(f.fd, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return unwritten(path, err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return unwritten(path, err)
	}
	if err := w.mayRead(fd, path, &st, 0o4); err != nil {
		return err
	}
	h, err := w.header(f, name, path, &st)
	if err != nil {
		return err
	}
	h.Typeflag, h.Size = tar.TypeReg, st.Size
	if err := w.put(h); err != nil {
		return err
	}
	n, err := io.Copy(w.tw, io.LimitReader(&ctxReader{w.ctx, file}, st.Size))
	if err == nil && n != st.Size {
		return forkbox.Errorf(forkbox.Conflict, opWrite, "%q became shorter while it was read", "/"+path)
	}
	if err != nil {
		return unwritten(path, err)
	}
	return nil
}

// header describes a file, with its attributes.
func (w *layerWriter) header(f *folder, name, path string, st *unix.Stat_t) (*tar.Header, error) {
	h := w.plainHeader(path, st)
	names, err := listXattrs(f.fd, name)
	if err != nil {
		return nil, unwritten(path, err)
	}
	for _, n := range names {
		if w.o.XattrPrefix != "" && n == w.o.XattrPrefix+"metacopy" {
			return nil, forkbox.Errorf(forkbox.Unsupported, opWrite, "%q has its content in another layer", "/"+path)
		}
		if !w.carried(n) {
			continue
		}
		if strings.Contains(n, "=") {
			return nil, forkbox.Errorf(forkbox.Unsupported, opWrite, "%q has the attribute %q, and a tar cannot hold a name with \"=\"", "/"+path, n)
		}
		value, err := xattr(f.fd, name, n)
		if absent(err) {
			continue
		}
		if err != nil {
			return nil, unwritten(path, err)
		}
		if h.PAXRecords == nil {
			h.PAXRecords = map[string]string{}
		}
		h.PAXRecords[schily+n] = string(value)
	}
	return h, nil
}

// carried says whether an attribute belongs to the file: overlayfs's own do
// not, nor the SELinux label, which follows from where a file lies.
func (w *layerWriter) carried(name string) bool {
	return name != "security.selinux" && (w.o.XattrPrefix == "" || !strings.HasPrefix(name, w.o.XattrPrefix))
}

func (w *layerWriter) plainHeader(path string, st *unix.Stat_t) *tar.Header {
	uid, gid := int(st.Uid), int(st.Gid)
	if w.o.Owner != nil {
		uid, gid = w.o.Owner(uid, gid)
	}
	return &tar.Header{
		Format: tar.FormatPAX, // nanoseconds, long names, attributes
		Name:   path, Mode: int64(st.Mode & 0o7777), Uid: uid, Gid: gid,
		ModTime: time.Unix(int64(st.Mtim.Sec), int64(st.Mtim.Nsec)),
	}
}

// mark writes a whiteout. It has no time or owner, so that it is the same
// however it was made.
func (w *layerWriter) mark(path string) error {
	return w.put(&tar.Header{Format: tar.FormatPAX, Typeflag: tar.TypeReg, Name: path, ModTime: time.Unix(0, 0)})
}

func (w *layerWriter) put(h *tar.Header) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if err := w.tw.WriteHeader(h); err != nil {
		return unwritten(h.Name, err)
	}
	return nil
}

// mayEnter refuses a directory that the reader may not list.
func (w *layerWriter) mayEnter(f *folder) error {
	if w.o.Reader == nil {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return unwritten(f.path, err)
	}
	return w.mayRead(f.fd, f.path, &st, 0o5)
}

// mayRead refuses what the reader may not: this process may have more rights.
// It is asked of what is open, so nothing else can be put in its place.
func (w *layerWriter) mayRead(fd int, path string, st *unix.Stat_t, want uint32) error {
	if w.o.Reader == nil || permits(fd, st, *w.o.Reader)&want == want {
		return nil
	}
	return forkbox.Errorf(forkbox.Denied, opWrite, "you may not read %q", "/"+path).
		Hint("remove it in the box, or have its owner export it").About("/"+path, "may not be read")
}

// permits is what a mode allows a user. Access lists can take rights away that
// the mode seems to give; with one, only the owner is sure.
func permits(fd int, st *unix.Stat_t, who forkbox.Owner) uint32 {
	mode := st.Mode & 0o777
	switch {
	case who.UID == 0:
		return 7
	case int(st.Uid) == who.UID:
		return mode >> 6
	}
	if _, err := unix.Fgetxattr(fd, "system.posix_acl_access", nil); err == nil {
		return 0
	}
	if int(st.Gid) == who.GID || slices.Contains(who.Groups, int(st.Gid)) {
		return mode >> 3 & 7
	}
	return mode & 7
}
