package containers

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// HostPath is by which name this machine has what a process has at a path: the
// kernel says of each mount which filesystem it shows and from where in it.
// Whether what is found is the same is looked at. It is "" where the machine does
// not show it.
func HostPath(pid int, path string) string {
	inside, err := mountsOf(pid)
	if err != nil {
		return ""
	}
	own, err := mountinfo.GetMounts(nil)
	if err != nil {
		return ""
	}
	at := covering(inside, path)
	if at == nil {
		return ""
	}
	want := filepath.Join(at.Root, strings.TrimPrefix(path, at.Mountpoint))
	for _, m := range own {
		if m.Major != at.Major || m.Minor != at.Minor || !forkbox.Within(want, m.Root) {
			continue
		}
		rel, err := filepath.Rel(m.Root, want)
		if err != nil {
			continue
		}
		if host := filepath.Join(m.Mountpoint, rel); sameFile(host, proc(pid, "root"+path)) {
			return host
		}
	}
	return ""
}

func mountsOf(pid int) ([]*mountinfo.Info, error) {
	f, err := os.Open(proc(pid, "mountinfo"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return mountinfo.GetMountsFromReader(f, nil)
}

// covering is the mount that shows what is at a path: of those it lies in the
// innermost, and of these the last.
func covering(mounts []*mountinfo.Info, path string) (at *mountinfo.Info) {
	for _, m := range mounts {
		if forkbox.Within(path, m.Mountpoint) && (at == nil || len(m.Mountpoint) >= len(at.Mountpoint)) {
			at = m
		}
	}
	return at
}

func sameFile(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Stat(a, &x) == nil && unix.Stat(b, &y) == nil && x.Dev == y.Dev && x.Ino == y.Ino
}
