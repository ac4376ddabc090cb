package change

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// reset gives a directory of a box its attributes back.
func (d *discarder) reset(path string) error {
	u, ok := d.upperOf(path)
	if !ok || len(u.Layers) == 0 {
		return d.withPath(path, d.resetAttributes)
	}
	return d.withSites(d.ctx, u, path, func(t *terrain, name string) error {
		at := t.level()
		if name != "." {
			if ok, err := t.enter(name); err != nil || !ok {
				return err
			}
		}
		if err := t.settle(); err != nil {
			return err
		}
		if name != "." {
			at.upper = t.way[len(t.way)-2].upper
		}
		return d.resetAttributes([]level{at}, name)
	})
}

// level is where the way has come to.
func (t *terrain) level() level {
	return level{upper: t.last().upper, base: t.last().base}
}

// resetAttributes gives a directory of the upper the mode, owner and extended
// attributes that it has in the base. It is not opened for reading: the box may
// have left it so that only root can do that.
func (d *discarder) resetAttributes(way []level, name string) error {
	l := way[len(way)-1]
	base, err := openPath(l.base, name)
	if errors.Is(err, unix.ENOENT) {
		return nil // it shows nothing to be reset to
	}
	if err != nil {
		return err
	}
	defer unix.Close(base)
	dir, err := openPath(l.upper, name)
	if err != nil {
		return ignore(err, unix.ENOENT)
	}
	defer unix.Close(dir)
	f, err := lstat(l.base, name)
	if err != nil {
		return err
	}
	if !d.src.IgnoreOwner {
		if err := unix.Fchownat(l.upper, name, int(f.Uid), int(f.Gid), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	// A rootless box may have taken its owner's right to look at them.
	if err := unix.Chmod(opened(dir), f.perm()|0o700); err != nil {
		return err
	}
	if err := d.resetXattrs(dir, base); err != nil {
		return err
	}
	return unix.Chmod(opened(dir), f.perm())
}

// opened names what a descriptor stands for, for calls that take none which
// was opened without the right to read.
func opened(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func (d *discarder) resetXattrs(dir, base int) error {
	files := newDescriber(d.src)
	want, err := files.xattrs(base, ".")
	if err != nil {
		return err
	}
	have, err := files.xattrs(dir, ".")
	if err != nil {
		return err
	}
	for name := range have {
		if _, keep := want[name]; !keep {
			if err := ignore(unix.Removexattr(opened(dir), name), unix.ENODATA); err != nil {
				return err
			}
		}
	}
	for name, value := range want {
		if string(have[name]) == string(value) {
			continue
		}
		if err := unix.Setxattr(opened(dir), name, value, 0); err != nil {
			return err
		}
	}
	return nil
}
