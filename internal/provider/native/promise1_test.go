//go:build linux

package native

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/providertest"
)

// TestPromise1RealityIsReadOnly: every user of a box, root included, tries
// hard to change reality.
func TestPromise1RealityIsReadOnly(t *testing.T) {
	t.Parallel()
	canary := providertest.Tree(t, map[string]string{"a": "a", "sub/b": "b", "sub/deep/c": "c", "bin/tool": "#!/bin/sh\n"})
	must(t, os.Symlink("a", canary+"/link"))
	must(t, os.Link(canary+"/a", canary+"/hard"))
	before := manifest(t, canary)
	self, err := os.Executable()
	must(t, err)
	selfBefore := manifest(t, self)
	knobs := kernelState()

	p, l := lab(t)
	for _, attack := range attacks(canary) {
		r := l.Start(l.Box()) // the last one may be a ruin
		_, _ = r.Try(providertest.Shell(attack), strings.NewReader("x"))
		must(t, r.Instance.Stop(t.Context(), 0))
	}
	r := l.Start(l.Box())
	for _, what := range refused() {
		r.Fails(what)
	}
	res := r.Run(forkbox.ExecSpec{Argv: providertest.Tool("escape", canary)}, nil)
	if res.Exit.Code != 0 {
		t.Errorf("%s%s", res.Stdout, res.Stderr)
	}
	sameTree(t, before, manifest(t, canary))
	sameTree(t, selfBefore, manifest(t, self))
	sameTree(t, knobs, kernelState())
	must(t, r.Instance.Stop(t.Context(), 0))
	sameTree(t, before, manifest(t, canary))
	nothingRuns(t, p.home)
}

// attacks succeed or fail in the box as they like; reality must not notice.
// They are aimed at the canary only: the day one hits, it hits a test.
func attacks(canary string) []string {
	return []string{
		// As any program would.
		"rm -rf " + canary + "/sub",
		"cd " + canary + "; echo x >a; echo x >>hard; chmod 777 a; chown 1:1 a; touch -d @0 a; mv bin nib; ln a more; truncate -s 0 link",
		"setfattr -n user.x -v y " + canary + "/a; chattr +i " + canary + "/a",
		// Around the overlay.
		"for d in root cwd; do rm -rf /proc/1/$d" + canary + "; echo x >/proc/1/$d" + canary + "/a; done; cd /proc/1/cwd && rm -rf ." + canary,
		"for f in /proc/1/fd/* /proc/self/fd/*; do test -f $f && echo x >>$f; touch $f/x $f/../x; done",
		"echo x >/proc/1/exe; cp /bin/true /proc/1/exe; dd if=/dev/zero of=/proc/self/exe count=1",
		"mount -o remount,rw /; mount --bind / /mnt && rm -rf /mnt" + canary + "; umount -l /; umount -R -l /",
		"mkdir -p /tmp/fbm && mount -t tmpfs x /tmp/fbm && pivot_root /tmp/fbm /tmp/fbm; rm -rf " + canary,
		"unshare -m sh -c 'umount -a; rm -rf " + canary + "'; unshare -Urm sh -c 'umount -l /proc; umount -l /; rm -rf " + canary + "'",
		"mkdir -p /tmp/o/u /tmp/o/w /tmp/o/m && mount -t overlay x -o lowerdir=/,upperdir=/tmp/o/u,workdir=/tmp/o/w /tmp/o/m && rm -rf /tmp/o/m" + canary,
		"nsenter -t 1 -a rm -rf " + canary + "; nsenter -t 1 -m -U rm -rf " + canary,
	}
}

// refused have to fail, in the box of root too: they are not about files that
// are copied on write.
func refused() []string {
	list := []string{
		"mknod /tmp/fbdisk b " + rootDevice() + " && head -c 1 /tmp/fbdisk",
		"mknod /tmp/fbmem c 1 1",
		"mount -t ext4 /dev/vda /mnt",
		"mount -t debugfs x /mnt", "mount -t tracefs x /mnt", "mount -t securityfs x /mnt",
		"mount -o remount,rw /sys", "mount -o remount,bind,rw /sys && mkdir /sys/fs/cgroup/fbtest",
		"unshare -Urm mount -o remount,bind,rw /sys",
		"echo >/proc/self/oom_score_adj && echo -1000 >/proc/1/oom_score_adj",
		"exec 3>/proc/sysrq-trigger", // opened only: writing to it would be meant
		"exec 3>/sys/power/state", "exec 3>/sys/kernel/uevent_helper",
		"dmesg",
	}
	for _, knob := range []string{"kernel/core_pattern", "kernel/modprobe", "kernel/hotplug", "vm/drop_caches", "fs/file-max"} {
		list = append(list, "exec 3>>/proc/sys/"+knob)
		list = append(list, "unshare -Urmpf --mount-proc sh -c 'exec 3>>/proc/sys/"+knob+"'")
		list = append(list, "umount -l /proc/sys; mkdir -p /tmp/p; mount -t proc p /tmp/p; exec 3>>/tmp/p/sys/"+knob)
	}
	return list
}

// rootDevice is the disk below /, as mknod wants it.
func rootDevice() string {
	var st unix.Stat_t
	if unix.Stat("/", &st) != nil {
		return "8 0"
	}
	return fmt.Sprint(unix.Major(st.Dev), " ", unix.Minor(st.Dev))
}

// kernelState is what of the kernel a box might try to set.
func kernelState() map[string]string {
	state := map[string]string{}
	for _, path := range []string{
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/kernel/modprobe",
		"/proc/sys/kernel/domainname", "/proc/sys/vm/overcommit_memory", "/proc/sys/fs/file-max",
		"/sys/kernel/uevent_helper", "/proc/swaps",
	} {
		raw, _ := os.ReadFile(path)
		state[path] = string(raw)
	}
	return state
}

// TestPromise1CgroupsOfTheHost: a cgroup filesystem that root mounts in a box
// must show the box's own group and nothing above it.
func TestPromise1CgroupsOfTheHost(t *testing.T) {
	t.Parallel()
	_, l := lab(t)
	r := l.Start(l.Box())
	name := "fbtest-" + r.Box.ID
	t.Cleanup(func() {
		for _, dir := range cgroupsNamed(name) {
			_ = os.Remove(dir)
		}
	})
	own := r.Sh("cat /proc/self/cgroup")
	r.Run(providertest.Shell(`for o in memory freezer pids name=systemd; do
		mkdir -p /tmp/cg/$o; mount -t cgroup -o $o x /tmp/cg/$o && mkdir /tmp/cg/$o/`+name+`; done
		mkdir -p /tmp/cg/2; mount -t cgroup2 x /tmp/cg/2 && mkdir /tmp/cg/2/`+name), nil)
	for _, dir := range cgroupsNamed(name) {
		if !strings.Contains(filepath.Dir(dir), r.Box.ID) { // in a group of the box's own it may
			t.Errorf("root in the box made the host's cgroup %s (its own: %q)", dir, own)
		}
	}
}

// escapeTool tries what takes system calls, and fails when one works.
func escapeTool(args []string) int {
	canary := args[0]
	code := 0
	for _, attempt := range []struct {
		name string
		try  func() error // nil is an escape
	}{
		{"write to init's program", func() error { return openFor(unix.O_WRONLY, "/proc/1/exe") }},
		{"truncate init's program", func() error { return unix.Truncate("/proc/1/exe", 0) }},
		{"open by handle", byHandle},
		{"parent user namespace", func() error { return parentOf("/proc/self/ns/user", unix.NS_GET_PARENT) }},
		{"owner of the pid namespace's parent", func() error { return parentOf("/proc/self/ns/pid", unix.NS_GET_PARENT) }},
		{"descriptors that init did not mean to have", initFiles},
		{"chroot and back", func() error { return chrootBreak(canary) }},
	} {
		if err := attempt.try(); err == nil {
			fmt.Println("worked:", attempt.name)
			code = 1
		}
	}
	trace() // harmless: init has no more rights than the tracer
	return code
}

func openFor(flags int, path string) error {
	fd, err := unix.Open(path, flags, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func byHandle() error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/etc/passwd", 0)
	if err != nil {
		handle = unix.NewFileHandle(1, make([]byte, 8))
	}
	fd, err := unix.Open("/", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.OpenByHandleAt(fd, handle, unix.O_RDONLY)
	return err
}

func parentOf(path string, request uint) error {
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.IoctlRetInt(fd, request)
	return err
}

// initFiles finds directories and devices among what init has open. Files of
// the store that it writes to, its logs, are known.
func initFiles() error {
	fds, err := filepath.Glob("/proc/1/fd/*")
	if err != nil {
		return err
	}
	for _, fd := range fds {
		st, err := os.Stat(fd)
		target, _ := os.Readlink(fd)
		if err != nil || strings.HasPrefix(target, "anon_inode:") || strings.HasPrefix(target, "/memfd:") || strings.HasSuffix(target, ".log") || target == "/dev/null" || strings.HasPrefix(target, "/dev/pts") {
			continue
		}
		if own, err := os.Stat("/proc/1/exe"); err == nil && os.SameFile(st, own) && openFor(unix.O_WRONLY, fd) != nil {
			continue // its program, which it starts the agent of files from: on a mount that is read-only, as /proc/1/exe is
		}
		if target == "/proc/1/oom_score_adj" { // init's own, which who asks by that name gets as well
			continue
		}
		if st.IsDir() || st.Mode().IsRegular() || st.Mode()&os.ModeDevice != 0 {
			fmt.Println(fd, target)
			return nil
		}
	}
	return os.ErrNotExist
}

// chrootBreak is the classic way out of a chroot. It must end at the box's own
// root: what it writes there reality does not see.
func chrootBreak(canary string) error {
	top, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	var before, after unix.Stat_t
	_ = unix.Stat("/", &before)
	_ = os.MkdirAll("/tmp/fbroot", 0o755)
	if err := unix.Chroot("/tmp/fbroot"); err != nil {
		return err
	}
	_ = unix.Fchdir(top)
	for range 100 {
		_ = unix.Chdir("..")
	}
	_ = unix.Chroot(".")
	_ = unix.Stat("/", &after)
	_ = os.WriteFile(canary+"/escaped", nil, 0o644)
	if before.Dev == after.Dev && before.Ino == after.Ino {
		return os.ErrPermission
	}
	return nil
}

func trace() {
	if unix.PtraceAttach(1) != nil {
		return
	}
	var status unix.WaitStatus
	_, _ = unix.Wait4(1, &status, unix.WALL, nil)
	var word [8]byte
	_, _ = unix.PtracePeekData(1, uintptr(unsafe.Pointer(&word)), word[:])
	_ = unix.PtraceDetach(1)
}
