package linux

import (
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Overlay describes one overlay mount. Lower directories are listed top first.
// Without an upper it is read-only.
type Overlay struct {
	Lower       []string
	Upper, Work string
	UserXattr   bool // inside a user namespace: trusted.* cannot be written there
	RedirectDir bool // rename of a directory from below costs nothing (not with UserXattr)
	OneLowerdir bool // kernels before 6.5 do not know lowerdir+
	Attr        int  // MOUNT_ATTR_*
}

// fsconfig commands.
const (
	setFlag   = 0
	setString = 1
	create    = 6
)

// Overlay mounts o on target. The new mount API has no option string, so that
// paths with commas and colons need no escaping and long ones fit.
func (s *Script) Overlay(o Overlay, target string) {
	first := s.used
	what := "mount overlay on " + target
	fs := s.Do(what, unix.SYS_FSOPEN, "overlay", unix.FSOPEN_CLOEXEC)
	s.log = fs
	set := func(key, value string) {
		s.Do(what+": "+key+"="+value, unix.SYS_FSCONFIG, fs, setString, key, value, 0)
		s.free(fs + 1)
	}
	flag := func(key string) {
		s.Do(what+": "+key, unix.SYS_FSCONFIG, fs, setFlag, key, 0, 0)
		s.free(fs + 1)
	}
	o.lower(set)
	// With it a directory and the files in it are on one device for programs that
	// ask. And without redirect_dir it has overlayfs mark a new directory as one
	// that shows nothing of the base: when the directory has landed, what the box
	// then deletes in it is known to be deleted.
	set("xino", "on")
	if o.Upper != "" {
		// These two, unlike lowerdir+, the kernel unescapes.
		set("upperdir", strings.ReplaceAll(o.Upper, `\`, `\\`))
		set("workdir", strings.ReplaceAll(o.Work, `\`, `\\`))
		// Without volatile every unmount of a box would sync the whole disk that
		// the store is on. What that costs after a power cut, see SECURITY.md.
		flag("volatile")
	}
	if o.UserXattr {
		flag("userxattr")
	} else if o.RedirectDir {
		set("redirect_dir", "on")
		// Whatever this kernel's defaults are: the upper must hold the whole
		// of what the box changed, and nothing that refers to the work
		// directory, which is new at each start.
		set("metacopy", "off")
		set("index", "off")
	}
	s.Do(what, unix.SYS_FSCONFIG, fs, create, 0, 0, 0)
	s.free(fs + 1)
	mnt := s.Do(what, unix.SYS_FSMOUNT, fs, unix.FSMOUNT_CLOEXEC, o.Attr)
	s.log = noReg
	s.moveMount(what, mnt, target)
	s.Do(what, unix.SYS_CLOSE, mnt)
	s.Do(what, unix.SYS_CLOSE, fs)
	s.free(first)
}

func (o Overlay) lower(set func(key, value string)) {
	if !o.OneLowerdir {
		for _, dir := range o.Lower {
			set("lowerdir+", dir)
		}
		return
	}
	escaped := make([]string, len(o.Lower))
	for i, dir := range o.Lower {
		escaped[i] = strings.NewReplacer(`\`, `\\`, `:`, `\:`).Replace(dir)
	}
	set("lowerdir", strings.Join(escaped, ":"))
}

func (s *Script) moveMount(what string, mnt Reg, target string) {
	s.Do(what, unix.SYS_MOVE_MOUNT, mnt, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// Mount is mount(2).
func (s *Script) Mount(source, target, fstype string, flags int, data string) {
	r := s.Do("mount "+fstype+" on "+target, unix.SYS_MOUNT, source, target, fstype, flags, data)
	s.free(r)
}

// Bind shows source at target with the given MOUNT_ATTR_* set. The attributes
// are set before the mount can be seen, so there is no moment without them.
func (s *Script) Bind(source, target string, attr int, recursive bool) {
	what := "bind " + source + " on " + target
	flags := unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC
	deep := 0
	if recursive {
		deep = unix.AT_RECURSIVE
	}
	mnt := s.Do(what, unix.SYS_OPEN_TREE, unix.AT_FDCWD, source, flags|deep)
	if attr != 0 {
		s.setAttr(what, mnt, attr, deep)
	}
	s.moveMount(what, mnt, target)
	s.Do(what, unix.SYS_CLOSE, mnt)
	s.free(mnt)
}

// BindAlike mounts path on itself, with the attributes of the mount it is on.
// It is one call where [Script.Bind] takes four.
func (s *Script) BindAlike(path string) {
	r := s.Do("bind "+path, unix.SYS_MOUNT, path, path, 0, unix.MS_BIND, 0)
	s.free(r)
}

// ReadOnly has the mount at path be read-only, or writable again; those below
// it stay as they are.
func (s *Script) ReadOnly(path string, on bool) {
	a := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if !on {
		a = &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	}
	r := s.Do("attributes of "+path, unix.SYS_MOUNT_SETATTR, unix.AT_FDCWD, path, 0, a, int(unsafe.Sizeof(*a)))
	s.free(r)
}

func (s *Script) setAttr(what string, mnt Reg, attr, deep int) {
	a := &unix.MountAttr{Attr_set: uint64(attr)}
	s.Do(what+": attributes", unix.SYS_MOUNT_SETATTR, mnt, "", unix.AT_EMPTY_PATH|deep, a, int(unsafe.Sizeof(*a)))
}

// Attach mounts what [CloneTree] made on target.
func (s *Script) Attach(tree int, target string) {
	what := "mount a directory on " + target
	r := s.Do(what, unix.SYS_MOVE_MOUNT, tree, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
	s.Do(what, unix.SYS_CLOSE, tree)
	s.free(r)
}

// CloneTree makes a mount of an open directory that is attached nowhere, so
// that a script can attach it in a mount namespace of its own.
func CloneTree(dir int) (int, error) {
	return unix.OpenTree(dir, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
}

// Detached is a second mount of what is at path, attached nowhere: nothing that
// is mounted below path later covers anything in it.
func (s *Script) Detached(path string) Reg {
	return s.Do("clone "+path, unix.SYS_OPEN_TREE, unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
}

// WriteIn writes a value to a file below an open directory.
func (s *Script) WriteIn(dir Reg, path, value string) {
	what := "write " + path
	fd := s.Do(what, unix.SYS_OPENAT, dir, path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	s.Do(what, unix.SYS_WRITE, fd, []byte(value), len(value))
	s.Do(what, unix.SYS_CLOSE, fd)
	s.free(fd)
}

// Private makes sure that no mount made here reaches the host and none of the
// host's later ones arrives here.
func (s *Script) Private() {
	s.Do("make mounts private", unix.SYS_MOUNT, 0, "/", 0, unix.MS_REC|unix.MS_PRIVATE, 0)
}

// Pivot makes root the root directory and lets go of the old one.
func (s *Script) Pivot(root string) {
	s.Do("chdir "+root, unix.SYS_CHDIR, root)
	s.Do("pivot_root", unix.SYS_PIVOT_ROOT, ".", ".")
	s.Do("unmount the old root", unix.SYS_UMOUNT2, ".", unix.MNT_DETACH)
	r := s.Do("chdir /", unix.SYS_CHDIR, "/")
	s.free(r - 3)
}

// Mkdir makes a directory with exactly this mode (the script's umask is 0).
// One that is there already is fine.
func (s *Script) Mkdir(path string, mode int) {
	r := s.Do("mkdir "+path, unix.SYS_MKDIRAT, unix.AT_FDCWD, path, mode)
	s.Okay(syscall.EEXIST)
	if mode&0o6000 != 0 { // which mkdir does not set
		s.last().past = 1 // one that was there is left as it is
		s.Do("chmod "+path, unix.SYS_FCHMODAT, unix.AT_FDCWD, path, mode)
	}
	s.free(r)
}

// Chown changes the owner, not following a symlink.
func (s *Script) Chown(path string, uid, gid int) {
	r := s.Do("chown "+path, unix.SYS_FCHOWNAT, unix.AT_FDCWD, path, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
	s.free(r)
}

// Mknod makes a device node; Whiteout makes the one that overlayfs takes for
// "deleted".
func (s *Script) Mknod(path string, mode uint32, dev int) {
	r := s.Do("mknod "+path, unix.SYS_MKNODAT, unix.AT_FDCWD, path, int(mode), dev)
	s.Okay(syscall.EEXIST)
	s.free(r)
}

// Whiteout makes path a deletion in an overlay layer.
func (s *Script) Whiteout(path string) { s.Mknod(path, unix.S_IFCHR, 0) }

// Symlink makes path a link to target.
func (s *Script) Symlink(target, path string) {
	r := s.Do("symlink "+path, unix.SYS_SYMLINKAT, target, unix.AT_FDCWD, path)
	s.Okay(syscall.EEXIST)
	s.free(r)
}

// WriteFile creates path with the given content.
func (s *Script) WriteFile(path string, mode int, content []byte) {
	what := "write " + path
	fd := s.Do(what, unix.SYS_OPENAT, unix.AT_FDCWD, path, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, mode)
	if len(content) > 0 {
		s.Do(what, unix.SYS_WRITE, fd, content, len(content))
		s.last().least = uintptr(len(content))
	}
	s.Do(what, unix.SYS_CLOSE, fd)
	s.free(fd)
}
