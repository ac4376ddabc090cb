package oci

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// layerWriter writes trees into one tar.
type layerWriter struct {
	ctx    context.Context
	tw     *tar.Writer
	o      Options
	mounts map[string]bool  // names in the archive that have a tree of their own
	links  map[inode]string // the first name of a file that has several
	left   Left
}

type inode struct{ dev, ino uint64 }

// folder is an open directory of a layer.
type folder struct {
	fd     int
	path   string // in the archive
	marked bool   // some files in it are whiteouts in the form of an attribute
}

func writeTrees(ctx context.Context, w io.Writer, trees []Tree, o Options) (Left, error) {
	lw := &layerWriter{ctx: ctx, tw: tar.NewWriter(w), o: o, mounts: map[string]bool{}, links: map[inode]string{}}
	for _, t := range trees {
		lw.mounts[inside(t.Mount)] = true
	}
	for _, t := range trees {
		if err := lw.tree(t); err != nil {
			return lw.left, err
		}
	}
	return lw.left, lw.tw.Close()
}

func (w *layerWriter) tree(t Tree) error {
	fd, err := unix.Open(t.Dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return unwritten(t.Mount, err)
	}
	defer unix.Close(fd)
	return w.folder(&folder{fd: fd, path: inside(t.Mount)})
}

// folder writes a directory and what is in it. The root of everything is not
// written: it is whatever the machine has that unpacks the image.
func (w *layerWriter) folder(f *folder) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if err := w.mayEnter(f); err != nil {
		return err
	}
	opaque, err := w.readMarks(f)
	if err != nil {
		return unwritten(f.path, err)
	}
	if f.path != "" {
		if err := w.folderItself(f); err != nil {
			return err
		}
	}
	if opaque {
		// Before anything that is in it, for those who unpack in one pass.
		if err := w.mark(below(f.path, opaqueName)); err != nil {
			return err
		}
	}
	names, err := linux.List(f.fd)
	if err != nil {
		return unwritten(f.path, err)
	}
	for _, name := range names {
		if err := w.entry(f, name); err != nil {
			return err
		}
	}
	return nil
}

func (w *layerWriter) folderItself(f *folder) error {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return unwritten(f.path, err)
	}
	h, err := w.header(f, ".", f.path+"/", &st)
	if err != nil {
		return err
	}
	h.Typeflag = tar.TypeDir
	return w.put(h)
}

// readMarks reads what overlayfs wrote on a directory.
func (w *layerWriter) readMarks(f *folder) (opaque bool, err error) {
	if w.o.XattrPrefix == "" {
		return false, nil
	}
	if _, err := xattr(f.fd, ".", w.o.XattrPrefix+"redirect"); err == nil {
		return false, ErrRedirect
	} else if !absent(err) {
		return false, err
	}
	value, err := xattr(f.fd, ".", w.o.XattrPrefix+"opaque")
	if err != nil && !absent(err) {
		return false, err
	}
	f.marked = string(value) == "x"
	return string(value) == "y", nil
}

// entry writes one name. What has a tree of its own is not looked at: the
// filesystem that is mounted there hid it.
func (w *layerWriter) entry(f *folder, name string) error {
	path := below(f.path, name)
	if w.mounts[path] {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstatat(f.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return unwritten(path, err)
	}
	if gone, err := w.isWhiteout(f, name, &st); err != nil {
		return unwritten(path, err)
	} else if gone {
		return w.mark(below(f.path, whiteoutPrefix+name))
	}
	if strings.HasPrefix(name, whiteoutPrefix) {
		return forkbox.Errorf(forkbox.Unsupported, opWrite, "%q: in an image a name that begins with %q means that a file was deleted", "/"+path, whiteoutPrefix).
			Hint("rename or remove it in the box, and try again").About("/"+path, "cannot be in an image")
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return w.subfolder(f, name, path)
	}
	return w.leaf(f, name, path, &st)
}

func (w *layerWriter) subfolder(f *folder, name, path string) error {
	if len(path) > DefaultLimits.Name {
		// Also what bounds the descriptors that are open at a time.
		return forkbox.Errorf(forkbox.Unsupported, opWrite, "%.60q… is nested too deeply: its path has more than %d bytes", "/"+path, DefaultLimits.Name)
	}
	fd, err := open(f.fd, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return unwritten(path, err)
	}
	defer unix.Close(fd)
	return w.folder(&folder{fd: fd, path: path})
}

func (w *layerWriter) isWhiteout(f *folder, name string, st *unix.Stat_t) (bool, error) {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFCHR:
		return w.o.XattrPrefix != "" && st.Rdev == 0, nil
	case unix.S_IFREG:
		if !f.marked {
			return false, nil
		}
		_, err := xattr(f.fd, name, w.o.XattrPrefix+"whiteout")
		if absent(err) {
			return false, nil
		}
		return err == nil, err
	}
	return false, nil
}

// unwritten says which path it was about.
func unwritten(path string, err error) error {
	var e *forkbox.Error
	if errors.As(err, &e) {
		return err
	}
	code := forkbox.Internal
	switch {
	case errors.Is(err, ErrRedirect):
		code = forkbox.Unsupported
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		code = forkbox.Denied
	}
	return forkbox.Errorf(code, opWrite, "%q: %w", "/"+strings.TrimPrefix(path, "/"), err)
}
