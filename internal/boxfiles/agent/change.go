//go:build linux

package agent

import (
	"errors"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/boxfiles"
)

// makeDir makes a directory. With parents one that is there already is fine.
func makeDir(name string, req boxfiles.Request) (boxfiles.Info, error) {
	mode := uint32(0o755)
	if req.Mode != nil {
		mode = *req.Mode & 0o7777
	}
	name = path.Clean(name)
	if req.Parents {
		if st, err := os.Stat(name); err == nil && st.IsDir() {
			return statPath(name, true)
		}
		if err := os.MkdirAll(path.Dir(name), 0o755); err != nil {
			return boxfiles.Info{}, err
		}
	}
	if err := unix.Mkdir(name, mode); err != nil {
		return boxfiles.Info{}, err
	}
	if mode&0o7000 != 0 { // mkdir takes no more than permissions
		if err := unix.Chmod(name, mode); err != nil {
			return boxfiles.Info{}, err
		}
	}
	return statPath(name, false)
}

// move renames. Where the filesystem cannot, because it is another one or the
// directory is still the base's, it copies, and removes what it copied.
func move(from, to string, replace bool) (boxfiles.Info, error) {
	if to == "" {
		return boxfiles.Info{}, forkbox.Errorf(forkbox.Invalid, "", "it was not said where to")
	}
	from, to = path.Clean(from), path.Clean(to)
	flags := uint(unix.RENAME_NOREPLACE)
	if replace {
		flags = 0
	}
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags)
	if errors.Is(err, unix.EXDEV) {
		err = moveByCopy(from, to, flags)
	}
	if errors.Is(err, unix.EINVAL) {
		err = forkbox.Errorf(forkbox.Invalid, "", "a directory cannot be moved into itself")
	}
	if err != nil {
		return boxfiles.Info{}, err
	}
	return statPath(to, false)
}

// moveByCopy copies into a directory beside the target, which the copy is then
// renamed out of.
func moveByCopy(from, to string, flags uint) error {
	parent, _ := path.Split(to)
	if len(to) > len(from) && to[:len(from)+1] == from+"/" {
		return unix.EINVAL
	}
	dir, err := openDir(unix.AT_FDCWD, parent, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	stage := draftName()
	if err := unix.Mkdirat(dir, stage, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(path.Join(parent, stage))
	copied := path.Join(parent, stage, "copy")
	if err := copyTree(from, copied); err != nil {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, copied, unix.AT_FDCWD, to, flags); err != nil {
		return err
	}
	return os.RemoveAll(from)
}

// copyTree copies a file or a directory to a name that is not there yet.
func copyTree(from, to string) error {
	r, w := io.Pipe()
	go func() {
		out, err := tarOut(w, from)
		if err == nil && len(out.Skipped) > 0 {
			err = forkbox.Errorf(forkbox.Unsupported, "", "%s cannot be copied: %s", out.Skipped[0].Path, out.Skipped[0].Why)
		}
		w.CloseWithError(err)
	}()
	defer r.Close()
	into := to
	st, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		into = path.Dir(to)
	}
	x := &extractor{owners: true}
	if err := x.run(r, into); err != nil {
		return err
	}
	if !st.IsDir() {
		return unix.Renameat2(unix.AT_FDCWD, path.Join(into, path.Base(from)), unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	}
	return nil
}

// remove removes a file, a symlink and not what it leads to, or a directory.
func remove(name string, recursive bool) error {
	name = path.Clean(name)
	if name == "/" {
		return forkbox.Errorf(forkbox.Invalid, "", "it is the root of the box").
			Hint("remove the box: forkbox rm BOX")
	}
	st, err := statAt(unix.AT_FDCWD, name)
	if err != nil {
		return err
	}
	if typeOf(&st) != boxfiles.Directory {
		return unix.Unlink(name)
	}
	if recursive {
		return os.RemoveAll(name)
	}
	return unix.Rmdir(name)
}
