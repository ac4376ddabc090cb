package oci

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

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
// It is asked of what is open, so nobody can put something else in its place.
func (w *layerWriter) mayRead(fd int, path string, st *unix.Stat_t, want uint32) error {
	if w.o.Reader == nil || permits(fd, st, *w.o.Reader)&want == want {
		return nil
	}
	return forkbox.Errorf(forkbox.Denied, opWrite, "you may not read %q", "/"+path).
		Hint("remove it in the box, or have its owner export it").About("/"+path, "may not be read")
}

// permits is what a mode allows somebody. Access lists can take rights away
// that the mode seems to give; with one, only the owner is sure.
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
