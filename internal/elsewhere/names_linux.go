package elsewhere

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Is says whether a process has another root directory than this one. What systemd
// hides from a service does not count.
func Is(pid int) bool {
	return !sameFile("/", proc(pid, "root/.")) && unix.Access(proc(pid, "root/."), unix.F_OK) == nil
}

// Names are those that a process has for files.
type Names struct {
	pid       int
	its, here []*mountinfo.Info
}

// Of are the names that a process has.
func Of(pid int) Names {
	n := Names{pid: pid}
	if f, err := os.Open(proc(pid, "mountinfo")); err == nil {
		n.its, _ = mountinfo.GetMountsFromReader(f, nil)
		f.Close()
	}
	n.here, _ = mountinfo.GetMounts(nil)
	return n
}

// Here is by which name this machine has what the process has at a path, "" if by
// none. The kernel says of each mount which filesystem it shows and from where in
// it; whether what is found is the same is looked at.
func (n Names) Here(path string) string {
	at := covering(n.its, path)
	if at == nil {
		return ""
	}
	want := filepath.Join(at.Root, strings.TrimPrefix(path, at.Mountpoint))
	for _, m := range n.here {
		if m.Major != at.Major || m.Minor != at.Minor || !forkbox.Within(want, m.Root) {
			continue
		}
		rel, err := filepath.Rel(m.Root, want)
		if err != nil {
			continue
		}
		if here := filepath.Join(m.Mountpoint, rel); sameFile(here, proc(n.pid, "root"+path)) {
			return here
		}
	}
	return ""
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

// Same says whether this machine has at a path what a process has at another.
func Same(here string, pid int, path string) bool { return sameFile(here, proc(pid, "root"+path)) }

func sameFile(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Stat(a, &x) == nil && unix.Stat(b, &y) == nil && x.Dev == y.Dev && x.Ino == y.Ino
}

func proc(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }
