//go:build linux

// Package hostmounts knows what is mounted on the host, and which paths lead to
// the same files.
package hostmounts

import (
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/storage/pool"
)

// pseudo filesystems are the kernel's, not reality's files. A box has its own
// /proc, /sys and /dev, and none of the others.
var pseudo = map[string]bool{
	"autofs": true, "binfmt_misc": true, "bpf": true, "cgroup": true, "cgroup2": true,
	"configfs": true, "debugfs": true, "devpts": true, "devtmpfs": true, "efivarfs": true,
	"fusectl": true, "hugetlbfs": true, "mqueue": true, "nsfs": true, "proc": true,
	"pstore": true, "ramfs": true, "rpc_pipefs": true, "securityfs": true, "selinuxfs": true,
	"sysfs": true, "tracefs": true,
}

// NotShown are mounts that belong to containers and sessions of the host, and
// the directories of which a box has its own.
var NotShown = []string{
	"/proc", "/sys", "/dev", "/run/user", "/run/credentials", "/run/docker", "/run/netns",
	"/run/containerd", "/var/lib/docker", "/var/lib/containers", "/var/lib/containerd", "/var/lib/kubelet",
}

// Mount is one of the host's that a box gets a view of.
type Mount struct {
	ID       int // what is mounted anew has another
	Dev      [2]int
	Point    string
	FSType   string
	Attr     int  // MOUNT_ATTR_* to keep: nosuid, noexec
	ReadOnly bool // on the host
	File     bool // a regular file
}

// Table is the host's mount table, read again only when it changed: the
// kernel says so through poll.
type Table struct {
	mu   sync.Mutex
	file *os.File
	list []Mount
	all  []string
	// age counts how often list has changed.
	age int
	// placed is where each mount comes from, and turn counts how often that has
	// changed.
	placed []Placed
	turn   int
}

// Open reads the host's mount table.
func Open() (*Table, error) {
	// Not os.Open: it has Go's poller wait for the file as well, which then is
	// told of a change, once, instead of who asks below.
	fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/proc/self/mountinfo", Err: err}
	}
	t := &Table{file: os.NewFile(uintptr(fd), "mountinfo")}
	return t, t.read()
}

// Mounts lists those a box gets a view of, parents before what is mounted
// below them, and the mount points of all. age changes with the first of them.
func (t *Table) Mounts() (list []Mount, points []string, age int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err = t.refresh()
	return t.list, t.all, t.age, err
}

// Places tells where each mount comes from. turn changes with it.
func (t *Table) Places() (list []Placed, turn int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err = t.refresh()
	return t.placed, t.turn, err
}

// Moved says whether the table has changed since a turn.
func (t *Table) Moved(turn int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.turn != turn
}

func (t *Table) refresh() error {
	fds := []unix.PollFd{{Fd: int32(t.file.Fd()), Events: unix.POLLPRI}}
	if n, err := unix.Poll(fds, 0); err != nil || n > 0 {
		return t.read()
	}
	return nil
}

// Reread does not wait for the kernel to say that something changed.
func (t *Table) Reread() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.read()
}

func (t *Table) read() error {
	if _, err := t.file.Seek(0, 0); err != nil {
		return err
	}
	infos, err := mountinfo.GetMountsFromReader(t.file, nil)
	if err != nil {
		return err
	}
	var list []Mount
	t.all = nil
	places := make([]Placed, 0, len(infos))
	for _, info := range infos {
		t.all, places = append(t.all, info.Mountpoint), append(places, placedOf(info))
		if m, ok := shown(info); ok {
			list = append(list, m)
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Point < list[j].Point })
	if !slices.Equal(list, t.list) {
		t.age++
	}
	if !slices.Equal(places, t.placed) {
		t.turn++
	}
	t.list, t.placed = list, places
	return nil
}

func shown(info *mountinfo.Info) (Mount, bool) {
	if pseudo[info.FSType] || Below(info.Mountpoint, NotShown...) || isPool(info) || isContainer(info) || !onTop(info) {
		return Mount{}, false
	}
	st, err := os.Lstat(info.Mountpoint)
	if err != nil {
		return Mount{}, false // not even root may look (a user's fuse mount)
	}
	if !st.IsDir() && !st.Mode().IsRegular() {
		return Mount{}, false // a socket, a pipe or a device of the host, as containers are given them
	}
	m := Mount{ID: info.ID, Dev: [2]int{info.Major, info.Minor}, Point: info.Mountpoint, FSType: info.FSType, File: !st.IsDir()}
	for _, option := range strings.Split(info.Options, ",") {
		switch option {
		case "ro":
			m.ReadOnly = info.Mountpoint != "/"
		case "nosuid":
			m.Attr |= unix.MOUNT_ATTR_NOSUID
		case "noexec":
			m.Attr |= unix.MOUNT_ATTR_NOEXEC
		}
	}
	return m, true
}

// isPool says whether a mount is a pool of boxes, of whichever daemon: its files
// are for those boxes alone, and a view of it would keep the pool from being
// closed.
func isPool(info *mountinfo.Info) bool {
	device, isLoop := strings.CutPrefix(info.Source, "/dev/loop")
	if !isLoop || info.FSType != "btrfs" {
		return false
	}
	file, err := os.ReadFile("/sys/block/loop" + device + "/loop/backing_file")
	return err == nil && strings.TrimSuffix(string(file), "\n") == pool.File(filepath.Dir(info.Mountpoint))
}

// isContainer says whether a mount is the root filesystem of a container, as Docker
// and Podman keep it. It is written to, it comes and goes with the container, and a
// view of it would keep it from going.
func isContainer(info *mountinfo.Info) bool {
	dir, name := filepath.Split(info.Mountpoint)
	return info.FSType == "overlay" && name == "merged" && slices.Contains(strings.Split(info.VFSOptions, ","), "upperdir="+dir+"diff")
}

// onTop says whether this mount is the one that its mount point leads to, and
// not one that another mount covers.
func onTop(info *mountinfo.Info) bool {
	var st unix.Statx_t
	flags := unix.AT_NO_AUTOMOUNT | unix.AT_STATX_DONT_SYNC | unix.AT_SYMLINK_NOFOLLOW
	if err := unix.Statx(unix.AT_FDCWD, info.Mountpoint, flags, unix.STATX_MNT_ID, &st); err != nil {
		return false
	}
	return st.Mask&unix.STATX_MNT_ID == 0 || st.Mnt_id == uint64(info.ID)
}

// Below says whether path is one of the directories or in one of them.
func Below(path string, dirs ...string) bool {
	for _, dir := range dirs {
		if path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") {
			return true
		}
	}
	return false
}
