package file

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/holes"
)

// unpackDir unpacks an archive that a box made into a directory here. Whatever
// the box wrote into it, all goes through [os.Root]: no name, and no symlink that
// was unpacked before, leads out of the directory.
func unpackDir(ctx context.Context, dir string, r io.Reader, owners bool) (api.TarResult, error) {
	u := &unpacker{owners: owners && os.Geteuid() == 0}
	err := os.Mkdir(dir, 0o755)
	u.fresh = err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return u.left, localError("make directory", dir, err)
	}
	if u.root, err = os.OpenRoot(dir); err != nil {
		return u.left, localError("copy to", dir, err)
	}
	defer u.root.Close()
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		switch {
		case err == io.EOF:
			return u.left, u.leave("")
		case err != nil:
			return u.left, err
		case ctx.Err() != nil:
			return u.left, ctx.Err()
		}
		if err := u.entry(h, archive); err != nil {
			return u.left, u.explain(dir, h.Name, err)
		}
	}
}

type unpacker struct {
	root   *os.Root
	owners bool
	fresh  bool
	dirs   []*tar.Header // whose modes and times are set when all in them is there
	left   api.TarResult
}

func (u *unpacker) explain(dir, name string, err error) error {
	var known *forkbox.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	return localError("write", filepath.Join(dir, name), err)
}

func (u *unpacker) skip(name, why string) {
	u.left.Left++
	if len(u.left.Skipped) < 100 {
		u.left.Skipped = append(u.left.Skipped, api.SkippedPath{Path: name, Why: why})
	}
}

func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	name := path.Clean(h.Name)
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.HasPrefix(h.Name, "/") {
		return forkbox.Errorf(forkbox.Invalid, "copy out of the box", "it sent the name %s, which leads out of the target", terminal.Printable(h.Name)).
			Hint("something in the box is up to no good; look at it with: forkbox files ls BOX PATH")
	}
	if err := u.leave(name); err != nil {
		return err
	}
	h.Name = name
	if h.Typeflag == tar.TypeDir {
		return u.directory(h)
	}
	if err := u.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		return u.file(h, content)
	case tar.TypeSymlink:
		return u.replace(name, func(as string) error { return u.root.Symlink(h.Linkname, as) })
	case tar.TypeLink:
		if !filepath.IsLocal(filepath.FromSlash(h.Linkname)) {
			return forkbox.Errorf(forkbox.Invalid, "copy out of the box", "%s is to be a link to what is not in the target", terminal.Printable(name))
		}
		return u.replace(name, func(as string) error { return u.root.Link(path.Clean(h.Linkname), as) })
	case tar.TypeFifo:
		u.skip(name, "it is a named pipe")
	default:
		u.skip(name, "it is a device")
	}
	return nil
}

// partName is beside a name: a file has its own when it is whole.
func partName(name string) string {
	dir, base := path.Split(name)
	if len(base) > 200 {
		base = "file"
	}
	return dir + "." + base + "." + rand.Text()[:8] + ".part"
}

func (u *unpacker) file(h *tar.Header, content io.Reader) error {
	return u.replace(h.Name, func(as string) error {
		f, err := u.root.OpenFile(as, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		err = holes.Copy(f, content)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err == nil {
			err = u.dress(as, h)
		}
		return err
	})
}

// replace makes something under another name, and then has it take its own.
func (u *unpacker) replace(name string, create func(as string) error) error {
	as := partName(name)
	err := create(as)
	if err == nil {
		err = u.root.Rename(as, name)
	}
	_ = u.root.Remove(as) // in vain once it has its name
	return err
}

// dress gives a copy its mode and time. It never is setuid, whatever the box
// says: it would be so for the user who copies.
func (u *unpacker) dress(name string, h *tar.Header) error {
	if u.owners {
		if err := u.root.Lchown(name, h.Uid, h.Gid); err != nil {
			return err
		}
	}
	if err := u.root.Chmod(name, fs.FileMode(h.Mode)&fs.ModePerm); err != nil {
		return err
	}
	return u.root.Chtimes(name, h.ModTime, h.ModTime)
}

func (u *unpacker) directory(h *tar.Header) error {
	fresh := u.fresh
	if h.Name != "." {
		_, err := u.root.Lstat(h.Name)
		fresh = errors.Is(err, fs.ErrNotExist)
		if err := u.root.MkdirAll(h.Name, 0o755); err != nil {
			return err
		}
	}
	if fresh {
		u.dirs = append(u.dirs, h)
	}
	return nil
}

// leave finishes the directories that a name is not in.
func (u *unpacker) leave(name string) error {
	for len(u.dirs) > 0 {
		last := u.dirs[len(u.dirs)-1]
		if name != "" && (last.Name == "." || strings.HasPrefix(name, last.Name+"/")) {
			return nil
		}
		u.dirs = u.dirs[:len(u.dirs)-1]
		if err := u.dress(last.Name, last); err != nil {
			return err
		}
	}
	return nil
}
