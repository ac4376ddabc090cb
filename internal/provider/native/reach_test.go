//go:build linux

package native

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/providertest"
)

// TestPromise1EveryMountHasAReason walks the mount table of boxes and the open
// files of their init. Each is the box's own, or read-only; and of what is not
// its own, root in the box can change neither content nor attributes.
func TestPromise1EveryMountHasAReason(t *testing.T) {
	t.Parallel()
	for _, net := range []forkbox.Net{forkbox.NetNone, forkbox.NetPolicy, forkbox.NetHost} {
		t.Run(string(net), func(t *testing.T) {
			t.Parallel()
			p, l := lab(t)
			if err := p.NetSupport(net); err != nil {
				t.Fatal(err)
			}
			r := l.Start(l.Box(func(b *forkbox.Box) { b.Net = net }))
			// While something runs init has its log open, too.
			input := openInput(t)
			must(t, r.Exec(r.ID(), forkbox.ExecSpec{Argv: []string{"cat"}}, forkbox.Stdio{In: input}, 1<<20))
			pid := r.Instance.(*instance).process.PID
			known := reasons(t, p, pid)
			if len(known) < 10 {
				t.Errorf("only %d mounts and files: %v", len(known), known)
			}
			for path, why := range known {
				if why == "" {
					t.Errorf("%s is the host's, and not read-only", path)
				}
			}
			res := r.Run(forkbox.ExecSpec{Argv: providertest.Tool("graze")}, nil)
			for _, line := range strings.Split(strings.TrimSpace(res.Stdout), "\n") {
				what, path, _ := strings.Cut(line, " ")
				why, seen := known[path]
				if why != theBoxs && (seen || !strings.HasPrefix(path, initFDs)) {
					t.Errorf("in the box %s %s works (%s)", what, path, why)
				}
			}
			if res.Exit.Code != 0 || !strings.Contains(res.Stdout, "chmod /dev/shm\n") {
				t.Errorf("the attempts: %+v", res)
			}
		})
	}
}

// TestTheWayIntoAGroupIsNobodysInABox: init has the files of an exec's cgroup
// open for a moment. Root in the box must not set their owner or mode.
func TestTheWayIntoAGroupIsNobodysInABox(t *testing.T) {
	t.Parallel()
	_, l := lab(t)
	i := l.Start(l.Box()).Instance.(*instance)
	if i.group == nil || !root {
		return // without cgroups of its own, or where no process may look into init
	}
	g, err := i.enclosure.newExecGroup("77", nil)
	must(t, err)
	defer func() { g.entry.Close(); must(t, g.sub.Remove()) }()
	for _, f := range entrance(g.entry) {
		var st unix.Stat_t
		must(t, unix.Fstat(int(f.Fd()), &st))
		if st.Uid != linux.Outsider || st.Gid != linux.Outsider {
			t.Errorf("%s belongs to %d:%d", f.Name(), st.Uid, st.Gid)
		}
	}
}

// openInput is the read end of a pipe that stays open while the test runs.
func openInput(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { w.Close() })
	return r
}

const (
	theBoxs  = "the box's own"
	readOnly = "read-only"
	initFDs  = "/proc/1/fd/"
)

// reasons says of each mount point of a box, and of each file that its init has
// open, why it does not lead to reality; "" where nothing is known.
func reasons(t *testing.T, p *Provider, pid int) map[string]string {
	t.Helper()
	shared := map[string]bool{}
	for _, m := range mountTableOf(t, "/proc/self/mountinfo") {
		shared[fmt.Sprint(m.Major, ":", m.Minor)] = true
	}
	known := map[string]string{}
	for _, m := range mountTableOf(t, fmt.Sprintf("/proc/%d/mountinfo", pid)) {
		switch {
		case !shared[fmt.Sprint(m.Major, ":", m.Minor)]:
			known[m.Mountpoint] = theBoxs
		case strings.HasPrefix(m.Options, "ro,") || m.Options == "ro":
			known[m.Mountpoint] = readOnly
		case m.Mountpoint == "/" && strings.Contains(m.Root, "/top/upper/"): // an unprivileged one's
			known[m.Mountpoint] = theBoxs
		default:
			known[m.Mountpoint] = ""
		}
	}
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	must(t, err)
	for _, fd := range fds {
		if why, open := fileReason(dir+"/"+fd.Name(), shared); open {
			if why == "" {
				link, _ := os.Readlink(dir + "/" + fd.Name())
				t.Errorf("init has %s open", link)
			}
			known[initFDs+fd.Name()] = why
		}
	}
	return known
}

// fileReason judges by the filesystem and mount that a file was opened on.
func fileReason(path string, shared map[string]bool) (why string, open bool) {
	var st unix.Stat_t
	var fs unix.Statfs_t
	if unix.Stat(path, &st) != nil || unix.Statfs(path, &fs) != nil {
		return "", false
	}
	switch {
	case !shared[fmt.Sprint(unix.Major(st.Dev), ":", unix.Minor(st.Dev))]:
		return theBoxs, true
	case fs.Flags&unix.ST_RDONLY != 0:
		return readOnly, true
	case st.Uid == linux.Outsider && st.Gid == linux.Outsider:
		return "nobody's in the box", true
	case !root:
		return "init's, and nobody in the box may look into it", true
	}
	return "", true
}

func mountTableOf(t *testing.T, path string) []*mountinfo.Info {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	list, err := mountinfo.GetMountsFromReader(f, nil)
	must(t, err)
	return list
}

// grazeTool tries to set the attributes of each mount point, and of what init
// has open, to what they are, and prints what it was allowed.
func grazeTool([]string) int {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return 1
	}
	defer f.Close()
	list, err := mountinfo.GetMountsFromReader(f, nil)
	if err != nil {
		return 1
	}
	for _, m := range list {
		graze(m.Mountpoint)
	}
	fds, _ := os.ReadDir(initFDs)
	for _, fd := range fds {
		graze(initFDs + fd.Name())
	}
	return 0
}

func graze(path string) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, try := range []struct {
		name string
		do   func() error
	}{
		{"chmod", func() error { return unix.Chmod(path, st.Mode&0o7777) }},
		{"chown", func() error { return unix.Chown(path, int(st.Uid), int(st.Gid)) }},
		{"touch", func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{st.Atim, st.Mtim}, 0) }},
		{"touch-now", func() error {
			now := unix.Timespec{Nsec: unix.UTIME_NOW}
			return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{now, now}, 0)
		}},
		{"write", func() error {
			if st.Mode&unix.S_IFMT != unix.S_IFREG {
				return unix.EISDIR // a device on a read-only mount can be written to, and is meant to be
			}
			return openFor(unix.O_WRONLY, path)
		}},
		{"setxattr", func() error { return unix.Setxattr(path, "user.forkbox-test", nil, 0) }},
	} {
		if try.do() == nil {
			fmt.Fprintln(out, try.name, path)
		}
	}
	_ = unix.Removexattr(path, "user.forkbox-test")
}
