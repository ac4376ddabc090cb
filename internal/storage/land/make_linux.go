package land

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// make creates what a put puts, in its slot.
func (l *Landing) make(r *record, it *Item, src *source) error {
	dir, name, err := l.places[r.Place].slot(r.Slot)
	if err != nil {
		return err
	}
	if it.Link != "" {
		if linked, err := l.link(r, it, dir, name); linked || err != nil {
			return err
		}
	}
	switch mode := kernelMode(it.Node.Mode); mode & unix.S_IFMT {
	case unix.S_IFREG:
		return l.makeFile(r, it, src, dir, name)
	case unix.S_IFDIR:
		err = mkdir(dir, name)
	case unix.S_IFLNK:
		r.Target = it.Node.Target
		sum := sha256.Sum256([]byte(r.Target))
		r.Sum = sum[:]
		err = act("symlink", func() error { return unix.Symlinkat(r.Target, dir, name) })
	default:
		err = act("mknod", func() error { return unix.Mknodat(dir, name, mode&unix.S_IFMT|0o600, int(it.Node.Rdev)) })
	}
	if err == nil && !it.Node.Mode.IsDir() {
		err = l.finish(r, it)
	}
	if err != nil {
		return err
	}
	if r.New, err = lstat(dir, name); err == nil && r.New != nil {
		r.New.Xattrs = packed(it.Node.Xattrs)
	}
	return err
}

func (l *Landing) makeFile(r *record, it *Item, src *source, dir int, name string) error {
	f, err := create(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	if r.Sum, err = src.copyTo(f, l.places[r.Place]); err != nil {
		return err
	}
	if err := dress(handle{int(f.Fd()), true}, r, it); err != nil {
		return err
	}
	if r.New, err = fstat(int(f.Fd())); err == nil {
		r.New.Xattrs = packed(it.Node.Xattrs)
	}
	return err
}

// finish gives what was staged its attributes.
func (l *Landing) finish(r *record, it *Item) error {
	dir, name, err := l.places[r.Place].slot(r.Slot)
	if err != nil {
		return failed(opLand, it.Path, err)
	}
	fd, err := open(dir, name, unix.O_PATH)
	if err != nil {
		return failed(opLand, it.Path, err)
	}
	defer unix.Close(fd)
	return failed(opLand, it.Path, dress(handle{fd, false}, r, it))
}

// link makes a put a hard link. It says no when that cannot be done and there
// is content to use instead.
func (l *Landing) link(r *record, it *Item, dir int, name string) (bool, error) {
	if s, ok := l.spots[it.Link]; ok {
		from, base, err := l.places[s.place].slot(s.slot)
		if err != nil {
			return false, err
		}
		if err := linkat(from, base, dir, name); err != nil && !l.instead(it, err) {
			return false, err
		} else if err != nil {
			return false, nil
		}
		r.Sum = s.sum
		r.New, err = look(dir, name)
		return true, err
	}
	err := l.linkInTree(r, it, dir)
	if err != nil && l.instead(it, err) {
		return false, nil
	}
	return err == nil, err
}

// instead says whether a link that failed can be a file of its own.
func (l *Landing) instead(it *Item, err error) bool {
	for _, e := range []error{unix.EXDEV, unix.EPERM, unix.EACCES, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EMLINK, unix.ESTALE} {
		if errors.Is(err, e) {
			return it.Content != nil || it.Bytes != nil || !it.Node.Mode.IsRegular()
		}
	}
	return false
}

// look describes something that is there, with its attributes.
func look(dir int, name string) (*object, error) {
	fd, err := open(dir, name, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	o, err := fstat(fd)
	if err == nil {
		o.Xattrs = handle{fd, false}.xattrs()
	}
	return o, err
}

// linkat does not follow a symlink: it gets another name itself.
func linkat(fromDir int, from string, toDir int, to string) error {
	return act("link", func() error { return unix.Linkat(fromDir, from, toDir, to, 0) })
}

// sumOf reads what a symlink or regular file consists of.
func sumOf(dir int, name string, o *object) (sum []byte, target string, err error) {
	switch {
	case o.isSymlink():
		if target, err = readlink(dir, name); err != nil {
			return nil, "", err
		}
		s := sha256.Sum256([]byte(target))
		return s[:], target, nil
	case !o.isRegular():
		return nil, "", nil
	}
	// O_NONBLOCK: it may be a fifo by now.
	fd, err := open(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, "", err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	s, err := Sum(context.Background(), f)
	return s[:], "", err
}

func readlink(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}
