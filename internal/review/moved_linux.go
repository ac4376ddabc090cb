package review

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/scope"
)

// Moved yields the files of the workspace that reality changed after the
// fence. It looks at every file there is, except noise.
func (v *View) Moved(ctx context.Context, yield func(path string) error) error {
	sorter := scope.New(v.Root, v.Box.Owner.Home, ReadIgnore)
	return filepath.WalkDir(v.Root, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || path == v.Root {
			return nil // not ours to read, or gone meanwhile
		}
		if d.IsDir() {
			return v.enter(path, d, sorter)
		}
		if id, ok := identity(d); ok && v.since(path, id) && !ignored(sorter, path, "file") {
			return yield(path)
		}
		return nil
	})
}

// enter says whether to look into a directory.
func (v *View) enter(path string, d fs.DirEntry, sorter *scope.Sorter) error {
	info, err := d.Info()
	if err != nil || d.Name() == ".git" || strings.HasPrefix(d.Name(), ".forkbox-") || ignored(sorter, path, "dir") {
		return fs.SkipDir
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && !v.mayLook(info.Mode(), int(st.Uid), int(st.Gid), 0o5) {
		return fs.SkipDir
	}
	return nil
}

func ignored(sorter *scope.Sorter, path, kind string) bool {
	return sorter.Scope(forkbox.Change{Path: path, Kind: forkbox.Modified, Type: kind}) == forkbox.Noise
}

func identity(d fs.DirEntry) (id forkbox.Identity, ok bool) {
	info, err := d.Info()
	if err != nil {
		return id, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return id, false
	}
	return forkbox.Identity{Dev: uint64(st.Dev), Ino: st.Ino, Ctime: st.Ctim.Nano(), Size: st.Size}, true
}

// lookDir is a directory as reality has it now.
func lookDir(name string) (d directory, there bool) {
	var st unix.Statx_t
	const flags, mask = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT, unix.STATX_BASIC_STATS | unix.STATX_BTIME
	if err := unix.Statx(unix.AT_FDCWD, name, flags, mask, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return d, false
	}
	nano := func(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }
	d.Dev, d.Ino, d.Size = unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino, int64(st.Size)
	d.Ctime, d.mtime = nano(st.Ctime), nano(st.Mtime)
	if st.Mask&unix.STATX_BTIME != 0 {
		d.born = nano(st.Btime)
	}
	return d, true
}
