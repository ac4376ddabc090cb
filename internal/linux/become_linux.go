package linux

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Umask sets the script's umask, so that modes are what they say.
func (s *Script) Umask(mask int) { s.free(s.Do("umask", unix.SYS_UMASK, mask)) }

// Unshare moves the child into new namespaces.
func (s *Script) Unshare(flags int) {
	s.free(s.Do("unshare namespaces", unix.SYS_UNSHARE, flags))
}

// Sync tells the parent through notify that the script has come this far and
// waits for a byte on resume. A parent that dies ends the child: for that the
// child closes its own copy of the pipe's other end.
func (s *Script) Sync(notify, resume, otherEnd int) {
	b := make([]byte, 1)
	r := s.Do("close the parent's end", unix.SYS_CLOSE, otherEnd)
	s.Do("tell the parent", unix.SYS_WRITE, notify, b, 1)
	s.Do("wait for the parent", unix.SYS_READ, resume, b, 1)
	s.last().least = 1
	s.free(r)
}

// MapSelf maps one user and group to themselves in the new user namespace:
// all that an unprivileged user may do without a setuid helper.
func (s *Script) MapSelf(uid, gid int) {
	s.writeProc("/proc/self/setgroups", "deny")
	s.writeProc("/proc/self/uid_map", fmt.Sprintf("%d %d 1", uid, uid))
	s.writeProc("/proc/self/gid_map", fmt.Sprintf("%d %d 1", gid, gid))
}

func (s *Script) writeProc(path, value string) {
	fd := s.Do("write "+path, unix.SYS_OPENAT, unix.AT_FDCWD, path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	s.Do("write "+path, unix.SYS_WRITE, fd, []byte(value), len(value))
	s.Do("write "+path, unix.SYS_CLOSE, fd)
	s.free(fd)
}

// Outsider is a user and group that no box of root's has: the last number there
// is. Root in a box can look at what its init has open, and could set the mode
// and owner of it, or open it anew; of an Outsider's file it can do neither.
const Outsider = 1<<32 - 2

// Disown gives open files to the [Outsider]. Who has them open goes on using
// them.
func Disown(files ...*os.File) error {
	for _, f := range files {
		if err := f.Chown(Outsider, Outsider); err != nil {
			return err
		}
	}
	return nil
}

// DisownAll does so with a directory and the files in it.
func DisownAll(dir *os.File) error {
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := unix.Fchownat(int(dir.Fd()), name, Outsider, Outsider, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return &os.PathError{Op: "give away", Path: name, Err: err}
		}
	}
	return Disown(dir)
}

// MapAll maps every user and group of the host to itself in the child's user
// namespace: root-owned files are root's in the box, and yet root there holds
// no capability here. It runs in the parent. All but [Outsider], who is nobody
// in there.
func MapAll(pid int) error {
	for _, name := range []string{"uid_map", "gid_map"} {
		path := "/proc/" + strconv.Itoa(pid) + "/" + name
		if err := os.WriteFile(path, []byte("0 0 "+strconv.Itoa(Outsider)), 0); err != nil {
			return err
		}
	}
	return nil
}

// KeepCapabilities lets the capabilities that the child has in its new user
// namespace survive the exec although its uid there is not 0.
func (s *Script) KeepCapabilities(last int) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	all := uint64(1)<<(last+1) - 1
	data := [2]unix.CapUserData{
		{Effective: uint32(all), Permitted: uint32(all), Inheritable: uint32(all)},
		{Effective: uint32(all >> 32), Permitted: uint32(all >> 32), Inheritable: uint32(all >> 32)},
	}
	h := unsafe.Slice((*byte)(unsafe.Pointer(&header)), unsafe.Sizeof(header))
	d := unsafe.Slice((*byte)(unsafe.Pointer(&data)), unsafe.Sizeof(data))
	r := s.Do("capset", unix.SYS_CAPSET, h, d)
	for c := range last + 1 {
		s.Do("raise ambient capability", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, c, 0, 0)
		s.free(r)
	}
	s.free(r)
}

// WithoutHandles takes from the child the capability that overlayfs asks of
// its mounter before it follows the handles of files of the base that it
// noted on its copies. Reality moves files: followed by its handle, a file under
// its new name would be one with the box's copy of it under the old name, and
// what is written to either would land at both. Without it overlayfs neither
// writes handles nor follows those that it finds. The child reads what it likes
// all the same (CAP_DAC_OVERRIDE), and has the capability again in the user
// namespace of the box.
func (s *Script) WithoutHandles() {
	header, data := withoutHandles()
	h := unsafe.Slice((*byte)(unsafe.Pointer(header)), unsafe.Sizeof(*header))
	d := unsafe.Slice((*byte)(unsafe.Pointer(data)), unsafe.Sizeof(*data))
	s.free(s.Do("lay down a capability", unix.SYS_CAPSET, h, d))
}

// WithoutHandles does to the calling thread what the method of the same name
// does to a script's child.
func WithoutHandles() error {
	header, data := withoutHandles()
	return unix.Capset(header, &data[0])
}

// withoutHandles are the capabilities of this thread, but for one. That a
// thread asks for its own cannot fail; if it did, nothing would be mounted
// without any.
func withoutHandles() (*unix.CapUserHeader, *[2]unix.CapUserData) {
	header, data := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &[2]unix.CapUserData{}
	_ = unix.Capget(header, &data[0])
	data[0].Effective &^= 1 << unix.CAP_DAC_READ_SEARCH
	return header, data
}

// Hostname sets the host name of the child's uts namespace.
func (s *Script) Hostname(name string) {
	s.free(s.Do("sethostname", unix.SYS_SETHOSTNAME, []byte(name), len(name)))
}

// OpenFiles sets the soft limit on open files. The Go runtime raises it for
// itself; what runs in a box gets what the user has.
func (s *Script) OpenFiles(limit unix.Rlimit) {
	s.free(s.Do("set the limit on open files", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, &limit, 0))
}

// Limit sets a limit of the child.
func (s *Script) Limit(resource int, limit unix.Rlimit) {
	s.free(s.Do("set a limit", unix.SYS_PRLIMIT64, 0, resource, &limit, 0))
}

// Nice sets the child's niceness.
func (s *Script) Nice(nice int) {
	s.free(s.Do("set the niceness", unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, nice))
}

// RunOn has the child run on these processors only: bits, as many as the kernel
// knows of.
func (s *Script) RunOn(cpus []uint64) {
	mask := unsafe.Slice((*byte)(unsafe.Pointer(&cpus[0])), 8*len(cpus))
	s.free(s.Do("choose processors", unix.SYS_SCHED_SETAFFINITY, 0, len(mask), mask))
}

// IOPriority sets how the child's reading and writing is treated.
func (s *Script) IOPriority(priority int) {
	const process = 1
	s.free(s.Do("set the priority of input and output", unix.SYS_IOPRIO_SET, process, 0, priority))
}

// Scheduler sets how the child is scheduled.
func (s *Script) Scheduler(policy, priority int) {
	param := binary.NativeEndian.AppendUint32(nil, uint32(priority))
	s.free(s.Do("choose a scheduler", unix.SYS_SCHED_SETSCHEDULER, 0, policy, param))
}

// Ignore has the program ignore a signal.
func (s *Script) Ignore(signal int) {
	action := make([]byte, 32)
	action[0] = 1 // SIG_IGN
	s.free(s.Do("ignore a signal", unix.SYS_RT_SIGACTION, signal, action, 0, 8))
}

// Session detaches the child from the daemon's session and terminal.
func (s *Script) Session() { s.free(s.Do("setsid", unix.SYS_SETSID)) }

// Dup makes fd available as number to the program.
func (s *Script) Dup(fd, number int) {
	s.free(s.Do("dup3", unix.SYS_DUP3, fd, number, 0))
}

// Hold opens a file for reading and writing and keeps it as number.
func (s *Script) Hold(path string, number int) {
	fd := s.Do("open "+path, unix.SYS_OPENAT, unix.AT_FDCWD, path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	s.Do("keep "+path, unix.SYS_DUP3, fd, number, unix.O_CLOEXEC)
	s.Do("close "+path, unix.SYS_CLOSE, fd)
	s.free(fd)
}

// HoldOpen is Hold for a file that the program inherits.
func (s *Script) HoldOpen(path string, number int) {
	s.Hold(path, number)
	s.Inherit(number)
}

// HoldReadOnly keeps a path as number, without opening what is there, through a
// read-only mount of its own. A device can be opened for writing through it
// all the same; no process can change the device's attributes through it.
func (s *Script) HoldReadOnly(path string, number int) {
	fd := s.Do("find "+path, unix.SYS_OPEN_TREE, unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	s.setAttr("find "+path, fd, unix.MOUNT_ATTR_RDONLY, 0)
	s.Do("keep "+path, unix.SYS_DUP3, fd, number, unix.O_CLOEXEC)
	s.Do("close "+path, unix.SYS_CLOSE, fd)
	s.free(fd)
}

// Inherit lets the program have fd under its own number.
func (s *Script) Inherit(fd int) {
	s.free(s.Do("keep a file open", unix.SYS_FCNTL, fd, unix.F_SETFD, 0))
}

// Exec executes the program behind the open file fd.
func (s *Script) Exec(fd int, argv, env []string) {
	s.Do("execute init", unix.SYS_EXECVEAT, fd, "", vector(argv), vector(env), unix.AT_EMPTY_PATH)
}

func vector(list []string) []*byte {
	v := make([]*byte, 0, len(list)+1)
	for _, str := range list {
		p, err := syscall.BytePtrFromString(str)
		if err != nil {
			panic(err) // our own argv; never a user's
		}
		v = append(v, p)
	}
	return append(v, nil)
}
