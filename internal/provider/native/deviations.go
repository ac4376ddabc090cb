//go:build linux

package native

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/services"
)

const (
	fidelityPage = "docs/FIDELITY.md"
	securityPage = "docs/SECURITY.md"
	servicesPage = "docs/SERVICES.md"
)

// deviation is one that there is where the host is such as here says.
type deviation struct {
	forkbox.Deviation
	words string // by which the page speaks of it
	here  func(p *Provider) bool
}

// deviations is what stays different in a box. What hangs on the host is looked
// at on the host.
var deviations = []deviation{
	{forkbox.Deviation{What: "a file or directory of another user or group cannot be changed (EOVERFLOW)", Why: "an unprivileged user namespace has one user and one group, and the copy would have to belong to another", See: securityPage},
		"EOVERFLOW", isRootless},
	{forkbox.Deviation{What: "directories of reality cannot be renamed (EXDEV; mv copies)", Why: "overlayfs notes a move in an attribute that only root may set", See: securityPage},
		"EXDEV", isRootless},
	{forkbox.Deviation{What: "you can make files in /, /etc and /usr", Why: "the top directory of each overlay is yours: only root may give one away", See: fidelityPage},
		"top directory belongs to the box's user", isRootless},
	{forkbox.Deviation{What: "sudo and other setuid programs do not work", Why: "an unprivileged user namespace has one user", See: securityPage},
		"`sudo` does not work", isRootless},
	{forkbox.Deviation{What: "/sys is the host's, read-only, with its network devices", Why: "a box of a root daemon has the host's uid 0, and what only checks that must not be writable", See: securityPage},
		"/sys is the host's", isRoot},
	{forkbox.Deviation{What: "a file with several names parts from them at the first write", Why: "overlayfs copies up one name; what would hold them together makes a box follow reality's moves", See: fidelityPage},
		"parts it from its other names", always},
	{forkbox.Deviation{What: "no cgroup namespace of one's own (ENOSPC), so no bwrap --unshare-all", Why: "through one, root in a box could reach the daemon's cgroup; with version 2 of cgroups alone, and groups of the boxes' own, it could not", See: securityPage},
		"a cgroup namespace", lacksNamespaces},
	{forkbox.Deviation{What: "no /proc of one's own in a sandbox inside a box (EPERM), so no bwrap --proc", Why: "parts of the box's /proc are covered, and the kernel mounts none that shows more", See: securityPage},
		"a `/proc` of one's own", isRoot},
	{forkbox.Deviation{What: "no keyrings (ENOSYS)", Why: "they are of the caller's session and know no namespaces", See: securityPage},
		"keyrings", onHost("/proc/keys")},
	{forkbox.Deviation{What: "no /dev/fuse", Why: "a filesystem whose answers the box gives could keep the daemon waiting", See: securityPage},
		"`/dev/fuse`", onHost("/dev/fuse")},
	{forkbox.Deviation{What: "no io_uring (EPERM)", Why: "it makes system calls past the filter", See: securityPage},
		"io_uring", hasRings},
	{forkbox.Deviation{What: "container engines of the host do not answer", Why: "whoever speaks to one is root on the host", See: securityPage},
		"container engines of the host", hasEngine},
	{forkbox.Deviation{What: "32-bit programs have no network", Why: "a filter cannot see what the old socketcall asks for", See: securityPage},
		"32-bit programs have no network", onHost("/lib/ld-linux.so.2")},
	{forkbox.Deviation{What: "real-time scheduling is refused", Why: "rights over the machine's processors are the machine's", See: securityPage},
		"real-time scheduling", isRoot},
	{forkbox.Deviation{What: "a file written up to a tick (10 ms) before the fork counts as changed after it", Why: "before Linux 6.13 filesystems stamp files with a clock that goes in steps", See: "docs/decisions/0009-drift-and-bases.md"},
		"multigrain", func(*Provider) bool { return !linux.KernelAtLeast(6, 13) }},
	{forkbox.Deviation{What: "the data of databases that run on the host is not shown", Why: "a server that starts on files which another is writing to finds them torn", See: servicesPage},
		"does not see the data of databases that run", func(*Provider) bool { return len(services.Live()) > 0 }},
	{forkbox.Deviation{What: "a closed stdin is /dev/null, and TERM and USR1 are not ignored though the caller ignores them", Why: "the Go runtime replaces both before forkbox can see them", See: fidelityPage},
		"the Go runtime replaces them", always},
}

// lacksNamespaces says whether the host has cgroup namespaces and boxes do not.
func lacksNamespaces(p *Provider) bool {
	return onHost("/proc/self/ns/cgroup")(p) && !p.governor.namespaces()
}

func always(*Provider) bool       { return true }
func isRootless(p *Provider) bool { return p.rootless }
func isRoot(p *Provider) bool     { return !p.rootless }

// onHost says whether the host has what a box does not.
func onHost(path string) func(*Provider) bool {
	return func(*Provider) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
}

// hasRings says whether the host itself lets programs have io_uring. Before the
// setting there was no way to forbid it.
func hasRings(p *Provider) bool {
	text, err := os.ReadFile("/proc/sys/kernel/io_uring_disabled")
	switch strings.TrimSpace(string(text)) {
	case "2":
		return false
	case "1":
		return !p.rootless
	}
	return err == nil || linux.KernelAtLeast(5, 1)
}

// hasEngine says whether a container engine listens on this host where its
// clients look for it.
func hasEngine(*Provider) bool {
	for _, socket := range []string{"/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock"} {
		if st, err := os.Stat(socket); err == nil && st.Mode()&os.ModeSocket != 0 {
			return true
		}
	}
	return false
}

// Deviations are those of this host.
func (p *Provider) Deviations() []forkbox.Deviation {
	all := []forkbox.Deviation{}
	for _, d := range deviations {
		if d.here(p) {
			all = append(all, d.Deviation)
		}
	}
	if d, ok := slower(); ok {
		all = append(all, d)
	}
	return append(all, p.scenery.flatMounts()...)
}

// slower: nothing in a box comes before the daemon that started it.
func slower() (d forkbox.Deviation, ok bool) {
	// The system call tells 20 less the niceness: it must not be negative.
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	nice := 20 - raw
	return forkbox.Deviation{What: fmt.Sprintf("no niceness below %d", nice), Why: "that is the daemon's, and who may lower it has a right that nobody in a box has", See: fidelityPage}, err == nil && nice > 0
}

// flatMounts are the filesystems that a box cannot write to, although the host
// can.
func (sc *scenery) flatMounts() (all []forkbox.Deviation) {
	list, _, _, err := sc.mounts.Mounts()
	if err != nil {
		return nil
	}
	for _, m := range list {
		switch {
		case flat(m.FSType) && !m.ReadOnly:
			all = append(all, forkbox.Deviation{What: m.Point + " is read-only", Why: "overlayfs does not take " + m.FSType, See: "docs/decisions/0027-what-a-box-holds-of-the-host.md"})
		case unruly(m.FSType):
			all = append(all, forkbox.Deviation{What: m.Point + " may be empty", Why: "overlayfs may refuse " + m.FSType + " as what it lies over", See: securityPage})
		}
	}
	return all
}
