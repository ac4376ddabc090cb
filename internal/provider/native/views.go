//go:build linux

package native

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/provider/native/hostmounts"
)

// view is one thing to put into a box's root.
type view struct {
	Path string
	Kind viewKind
	Link string // target of a symlink
	File bool   // plain, and a regular file
	Attr int    // MOUNT_ATTR_*
	May  bool   // a failure leaves it empty and is reported, instead of failing the box
}

type viewKind int

const (
	overlaid  viewKind = iota // copy-on-write view of the directory Path
	plain                     // the file or filesystem as it is, read-only
	looked                    // read-only view of the directory Path
	directory                 // a directory that holds other views
	symlink
)

// rootViews is what a box of a root daemon consists of: / and every other
// filesystem, whole.
func rootViews(mounts []hostmounts.Mount, hidden []string, veil *veil) []view {
	views := []view{{Path: "/"}}
	for _, m := range mounts {
		if m.Point == "/" || hostmounts.Below(m.Point, hidden...) {
			continue
		}
		views = append(views, mounted(m, veil))
	}
	return views
}

// mounted is the view of a mount. One that is read-only in reality is seen
// through an overlay as well: a unix socket or a pipe in it would be the host's
// if it was bound; through an overlay no process of the host is behind it.
func mounted(m hostmounts.Mount, veil *veil) view {
	v := view{Path: m.Point, Attr: m.Attr, May: unruly(m.FSType)}
	switch {
	case m.File, flat(m.FSType):
		v.Kind, v.File, v.May = plain, m.File, true
	case m.ReadOnly && !veil.below(m.Point):
		v.Kind, v.May = looked, true
	}
	return v
}

// flat filesystems can hold no sockets and pipes, and overlayfs does not take
// them.
func flat(fstype string) bool {
	switch fstype {
	case "vfat", "msdos", "exfat":
		return true
	}
	return false
}

// unruly filesystems may refuse to be the lower layer of an overlay, or not
// answer. A box without one of them is still a box, and says so.
func unruly(fstype string) bool {
	switch fstype {
	case "cifs", "smb3", "9p", "ceph", "overlay", "virtiofs":
		return true
	}
	return strings.HasPrefix(fstype, "fuse") || strings.HasPrefix(fstype, "nfs")
}

// userViews is what a box of an unprivileged daemon consists of. In a user
// namespace overlayfs refuses a lower directory that has mounts below it, so
// those are descended into.
func userViews(mounts []hostmounts.Mount, points, hidden []string, veil *veil) []view {
	w := &walker{points: points, hidden: hidden, veil: veil, mounts: map[string]hostmounts.Mount{}}
	for _, m := range mounts {
		w.mounts[m.Point] = m
	}
	w.descend("/")
	return w.views
}

type walker struct {
	points []string                    // every mount point on the host
	mounts map[string]hostmounts.Mount // those of real filesystems
	hidden []string
	veil   *veil
	views  []view
}

func (w *walker) descend(dir string) {
	// A directory that this user cannot read has nothing in it to show.
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if !hostmounts.Below(path, w.hidden...) && !strings.HasPrefix(entry.Name(), ".forkbox-") { // an apply is at work there
			w.entry(path, entry.Type())
		}
	}
}

func (w *walker) entry(path string, kind fs.FileMode) {
	switch {
	case kind&fs.ModeSymlink != 0:
		if target, err := os.Readlink(path); err == nil {
			w.add(view{Path: path, Kind: symlink, Link: target})
		}
	case kind.IsRegular() && w.isMount(path) && !w.mounts[path].File:
		// Something else was mounted on a file: the kernel's, or a socket.
	case kind.IsRegular():
		w.add(view{Path: path, Kind: plain, File: true, May: true})
	case kind.IsDir():
		w.dir(path)
	}
}

func (w *walker) dir(path string) {
	m, real := w.mounts[path]
	switch {
	case path == "/run" && w.mountsBelow(path):
		w.run()
	case hostmounts.Below(path, hostmounts.NotShown...), w.isMount(path) && !real:
		w.add(view{Path: path, Kind: directory})
	case w.mountsBelow(path):
		w.add(view{Path: path, Kind: directory})
		w.descend(path)
	case real && m.ReadOnly:
		w.add(mounted(m, w.veil))
	case w.barren(path):
		w.add(view{Path: path, Kind: directory})
	default:
		w.add(mounted(hostmounts.Mount{Point: path, FSType: m.FSType, Attr: m.Attr}, w.veil))
	}
}

// barren directories have nothing that this user could see or change, now or
// (being another user's) soon: they need no overlay of their own.
func (w *walker) barren(path string) bool {
	if unix.Access(path, unix.W_OK) == nil {
		return false
	}
	entries, err := os.ReadDir(path)
	return err != nil || len(entries) == 0
}

// runShown are the parts of /run that programs read: resolver configuration,
// locks, state. The rest of it is sockets and other people's sessions.
var runShown = []string{
	"NetworkManager", "connman", "lock", "nscd", "resolvconf", "systemd/resolve",
	"utmp", "motd.dynamic",
}

func (w *walker) run() {
	for _, dir := range []string{"/run", "/run/user", filepath.Join("/run/user", strconv.Itoa(os.Geteuid()))} {
		if _, err := os.Lstat(dir); err == nil { // who has no session in reality has none in the box
			w.add(view{Path: dir, Kind: directory})
		}
	}
	for _, name := range runShown {
		path := filepath.Join("/run", name)
		st, err := os.Lstat(path)
		if err != nil || w.mountsBelow(path) {
			continue
		}
		if parent := filepath.Dir(path); parent != "/run" {
			w.add(view{Path: parent, Kind: directory})
		}
		w.entry(path, st.Mode().Type())
	}
}

func (w *walker) add(v view) { w.views = append(w.views, v) }

func (w *walker) isMount(path string) bool {
	for _, p := range w.points {
		if p == path {
			return true
		}
	}
	return false
}

func (w *walker) mountsBelow(path string) bool {
	for _, p := range w.points {
		if strings.HasPrefix(p, path+"/") {
			return true
		}
	}
	return false
}

// views is what the box's root is put together from.
func (sc *scenery) views(pl *plan) ([]view, error) {
	views, err := sc.plainViews(pl)
	if pl.box.Base.Foreign && !sc.rootless {
		for i := range views {
			views[i].Attr |= unix.MOUNT_ATTR_NOSUID
		}
	}
	return views, err
}

func (sc *scenery) plainViews(pl *plan) ([]view, error) {
	if !pl.onReality() {
		return []view{{Path: "/"}}, nil
	}
	mounts, points, age, err := sc.mounts.Mounts()
	for err == nil && sc.mounts.Moved(pl.concealed.turn) { // a mount came that may show what is hidden
		if pl.concealed, err = sc.concealment(pl.box); err == nil {
			mounts, points, age, err = sc.mounts.Mounts()
		}
	}
	if err != nil {
		return nil, err
	}
	pl.age, pl.pinned = age, pins(mounts, pl.concealed.hidden)
	if sc.rootless {
		return userViews(mounts, points, pl.concealed.hidden, pl.concealed.veil), nil
	}
	return rootViews(mounts, pl.concealed.hidden, pl.concealed.veil), nil
}
