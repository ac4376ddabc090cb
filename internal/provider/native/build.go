//go:build linux

package native

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
	"github.com/forkbox/forkbox/internal/provider/native/hostmounts"
)

// plan is everything that a box is made of.
type plan struct {
	root      string // where the new root is put together
	rootless  bool
	box       forkbox.Box
	views     []view
	pinned    string // the mounts of the host that it holds, see pins
	age       int    // of the host's mounts, as far as views has them
	veil      *veil
	concealed *concealment
	upper     map[string]string // by view
	work      map[string]string
	layers    map[string][]string // below the upper, topmost first
	home      string              // the store's
	base      openBase            // what is not reality
	tree      int                 // a mount of it, where the path will not do
	oneLower  bool
	cgroups   bool     // the box may make cgroup namespaces
	sysfs     bool     // mount a sysfs of our own instead of showing the host's
	proc      []string // what of /proc is the host's, see lookAtProc
	masks     []mask
	nofile    unix.Rlimit
	lastCap   int
	listener  int // socket for init
	stderr    int // file for what init has to say when it fails
	program   int // this binary
	spare     bool
	enter     []*os.File // writing to them enters the box's cgroup
	maxFD     int        // one more than the highest descriptor the child may have
	bareProc  linux.Reg  // /proc without the masks, out of the box's reach
	// The pipes of the user namespace handshake.
	notify, resume, resumeEnd int
}

// script is the box, top to bottom.
func (p *plan) script() *linux.Script {
	s := linux.NewScript()
	s.Keep(p.listener, p.stderr, p.program, p.notify, p.resume, p.resumeEnd)
	if p.tree > 0 {
		s.Keep(p.tree)
	}
	for _, f := range p.enter {
		s.Keep(int(f.Fd()))
		s.Enter(int(f.Fd()))
	}
	s.Session()
	s.Umask(0)
	if p.rootless {
		s.MapSelf(unix.Geteuid(), unix.Getegid())
	}
	// Once it is in its cgroup: that is the root of what the box sees of them.
	s.Unshare(unix.CLONE_NEWCGROUP)
	s.Private()
	p.veil.build(s)
	if p.spare {
		p.keepNames(s)
	}
	if !p.rootless { // who has no rights over the host lacks that one anyway
		s.WithoutHandles()
	}
	p.files(s)
	p.kernelViews(s)
	p.devices(s)
	p.holdTUN(s)
	s.Pivot(p.root)
	if !p.rootless {
		// From here on the mounts above belong to a more privileged
		// namespace: root in the box can neither undo nor look below them.
		s.Unshare(p.namespaces() | unix.CLONE_NEWUSER | unix.CLONE_NEWNS)
		s.Sync(p.notify, p.resume, p.resumeEnd)
	}
	if !p.cgroups {
		// Through a cgroup namespace of its own making root in the box could
		// mount the cgroup that the daemon is in, and write to it.
		s.WriteIn(p.bareProc, "sys/user/max_cgroup_namespaces", "0")
	}
	s.Hostname(p.box.Name)
	s.OpenFiles(p.nofile)
	if p.rootless {
		s.KeepCapabilities(p.lastCap)
	}
	s.Umask(0o022)
	s.Inherit(p.listener)
	if p.spare {
		s.Inherit(p.highFD(1))
		s.Inherit(p.highFD(2))
	}
	if p.gated() {
		s.Inherit(p.highFD(3))
	}
	s.HoldOpen("/dev/null", 0) // the box's own: root in it can reach what init holds
	s.Dup(p.stderr, 1)
	s.Dup(p.stderr, 2)
	s.Exec(p.program, []string{boxinit.InitName, p.config(), p.pinned}, initEnv)
	return s
}

// initEnv keeps init small and its start quick: without the last one the Go
// runtime would read cgroup files through the box's fresh /proc.
var initEnv = []string{"GOMAXPROCS=1", "GOTRACEBACK=single", "GODEBUG=containermaxprocs=0,updatemaxprocs=0"}

func (p *plan) config() string {
	config := boxinit.Config{Listen: p.listener, Net: p.box.Net, Rootless: p.rootless, Files: p.nofile.Cur, MaxFiles: p.nofile.Max}
	if p.gated() {
		config.TUN, config.LetIn = p.highFD(3), p.box.Network.LetIn
	}
	if p.spare {
		config.Spare, config.HostsFD, config.NameFD = true, p.highFD(1), p.highFD(2)
	}
	c, err := json.Marshal(config)
	if err != nil {
		panic(err) // plain values; cannot fail
	}
	return string(c)
}

// keepNames keeps the veil's files open that have the box's name in them: a
// spare learns its name later.
func (p *plan) keepNames(s *linux.Script) {
	s.Hold(filepath.Join(p.veil.dir, top, "/etc/hosts"), p.highFD(1))
	s.Hold(filepath.Join(p.veil.dir, top, "/etc/hostname"), p.highFD(2))
}

// highFD is a descriptor that this process has certainly not in use.
func (p *plan) highFD(n int) int { return p.maxFD - n }

// namespaces that a box has besides its user, mount, pid and cgroup namespace.
func (p *plan) namespaces() int {
	flags := unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if p.box.Net != forkbox.NetHost {
		flags |= unix.CLONE_NEWNET
	}
	return flags
}

// forkFlags are the namespaces that the child starts in. For root the user
// namespace comes later, after the mounts, and those that it does not own are
// out of reach for root in the box.
func (p *plan) forkFlags() uintptr {
	flags := unix.CLONE_NEWPID | unix.CLONE_NEWNS
	if p.rootless {
		flags |= unix.CLONE_NEWUSER | p.namespaces()
	}
	return uintptr(flags)
}

func (p *plan) at(path string) string { return filepath.Join(p.root, path) }

// files puts reality's filesystems into the new root.
func (p *plan) files(s *linux.Script) {
	if p.rootless && p.onReality() {
		// / itself cannot be overlaid here. What the box makes directly in
		// it is kept; the rest is mounted over.
		p.bareRoot(s)
	}
	for _, v := range p.views {
		put := func() { p.view(s, v) }
		if v.May {
			s.Try(put)
		} else {
			put()
		}
	}
}

// bareRoot is the root directory of an unprivileged box, without reality's.
func (p *plan) bareRoot(s *linux.Script) {
	if len(p.layers["/"]) == 0 {
		s.Bind(p.upper["/"], p.root, unix.MOUNT_ATTR_NODEV, false)
		return
	}
	s.Overlay(linux.Overlay{
		Lower: p.layers["/"], Upper: p.upper["/"], Work: p.work["/"],
		UserXattr: true, OneLowerdir: p.oneLower, Attr: unix.MOUNT_ATTR_NODEV,
	}, p.root)
}

func (p *plan) view(s *linux.Script, v view) {
	switch v.Kind {
	case overlaid:
		p.stub(s, v.Path)
		p.overlay(s, v)
	case plain:
		p.stubLike(s, v)
		s.Bind(v.Path, p.at(v.Path), v.Attr|unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV, false)
	case looked:
		p.stub(s, v.Path)
		p.look(s, v)
	case directory:
		p.stub(s, v.Path)
	case symlink:
		s.Symlink(v.Link, p.at(v.Path))
	}
}

// overlay puts the box's own layers over what the base has, and the veil in
// between. Overlayfs refuses a lower layer that lies inside another one; where
// the store lies in the base, base and veil are an overlay of their own, and
// the layers go over that.
func (p *plan) overlay(s *linux.Script, v view) {
	over := linux.Overlay{
		UserXattr: p.rootless, RedirectDir: !p.rootless, OneLowerdir: p.oneLower,
		Attr: v.Attr | unix.MOUNT_ATTR_NODEV,
	}
	ground, stack := p.real(v.Path), p.layers[v.Path]
	if p.tree > 0 {
		ground = p.at(v.Path) // as with what is below: covered by what comes next
		s.Attach(p.tree, ground)
	}
	below := append(p.veil.lower(v.Path), ground)
	if len(stack) > 0 && p.holdsStore(v) {
		lowest := over
		lowest.Lower = append(below, filepath.Join(p.veil.dir, nothing)) // one alone is refused
		lowest.Attr |= unix.MOUNT_ATTR_RDONLY
		s.Overlay(lowest, p.at(v.Path))
		below = []string{p.at(v.Path)} // what is mounted on it next covers it
	}
	over.Lower = append(slices.Clone(stack), below...)
	over.Upper, over.Work = p.upper[v.Path], p.work[v.Path]
	s.Overlay(over, p.at(v.Path))
}

// look puts a read-only overlay of a directory into the box.
func (p *plan) look(s *linux.Script, v view) {
	s.Overlay(linux.Overlay{
		Lower:     []string{p.real(v.Path), filepath.Join(p.veil.dir, nothing)}, // one alone is refused
		UserXattr: p.rootless, RedirectDir: !p.rootless, OneLowerdir: p.oneLower,
		Attr: v.Attr | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_RDONLY,
	}, p.at(v.Path))
}

// holdsStore says whether the store lies on the filesystem of a view.
func (p *plan) holdsStore(v view) bool {
	if !p.onReality() || !hostmounts.Below(p.home, v.Path) {
		return false
	}
	for _, other := range p.views {
		if len(other.Path) > len(v.Path) && hostmounts.Below(p.home, other.Path) {
			return false
		}
	}
	return true
}

// onReality says whether the box is a fork of this machine.
func (p *plan) onReality() bool { return p.box.Base.Root == "" }

// real is where the base has a path.
func (p *plan) real(path string) string { return p.base.at(path) }

// stub makes the directory that a view is mounted on, where the parent does
// not show one. It has reality's mode, so that it is no change.
func (p *plan) stub(s *linux.Script, path string) {
	if !p.rootless || !p.onReality() {
		return
	}
	mode := 0o755
	if st, err := os.Lstat(path); err == nil {
		mode = int(st.Mode().Perm()) | special(st.Mode())
	}
	s.Mkdir(p.at(path), mode)
}

func (p *plan) stubLike(s *linux.Script, v view) {
	if v.File && p.rootless {
		s.WriteFile(p.at(v.Path), 0o644, nil)
		return
	}
	p.stub(s, v.Path)
}

// node is a device of a box's /dev: the ones that programs expect and that
// give nothing away.
type node struct {
	name         string
	major, minor uint32
}

var nodes = []node{
	{"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0},
}

func (p *plan) devices(s *linux.Script) {
	p.stub(s, "/dev")
	s.Mount("forkbox", p.at("/dev"), "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=0755,size=64k")
	for _, n := range nodes {
		path := p.at("/dev/" + n.name)
		if p.rootless {
			s.WriteFile(path, 0o666, nil)
			// The device can be written to all the same; its mode, owner and
			// times, which are the host's, cannot.
			s.Bind("/dev/"+n.name, path, unix.MOUNT_ATTR_RDONLY, false)
		} else {
			s.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(n.major, n.minor)))
		}
	}
	for link, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
	} {
		s.Symlink(target, p.at("/dev/"+link))
	}
	s.Mkdir(p.at("/dev/pts"), 0o755)
	s.Mkdir(p.at("/dev/shm"), 0o1777)
	options := "newinstance,ptmxmode=0666,mode=0620"
	if !p.rootless {
		options += ",gid=5" // group tty, as everywhere
	}
	s.Mount("devpts", p.at("/dev/pts"), "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, options)
	s.Mount("forkbox", p.at("/dev/shm"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
}
