package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/scripts/vm/plan"
)

const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// home and runtime are the directories that a login gives the user.
var (
	home    = "/home/" + plan.User
	runtime = "/run/user/" + strconv.Itoa(plan.UserID)
)

// setUp does what an ordinary system has done before a user logs in.
func setUp(disks []plan.Disk) error {
	steps := []func() error{
		mountKernelFilesystems,
		func() error { return unix.Sethostname([]byte("vm")) },
		loopbackUp,
		deviceNodes,
		func() error { return attach(disks) },
		userDirectories,
		layOutGroups,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// mountKernelFilesystems leaves /tmp on the root disk: before Linux 6.6 tmpfs
// has no user extended attributes, which an unprivileged overlay needs.
func mountKernelFilesystems() error {
	for _, m := range []struct{ kind, dir, options string }{
		{"proc", "/proc", ""},
		{"sysfs", "/sys", ""},
		{"devpts", "/dev/pts", "gid=5,mode=620,ptmxmode=666"},
		{"tmpfs", "/dev/shm", "mode=1777"},
		{"tmpfs", "/run", "mode=755"},
		{"cgroup2", groups, "nsdelegate,memory_recursiveprot"},
	} {
		if err := mount(m.kind, m.dir, m.kind, m.options); err != nil {
			return err
		}
	}
	return nil
}

func loopbackUp() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

// deviceNodes has the drivers loaded whose nodes a device manager makes, with
// the rights that it gives them.
func deviceNodes() error {
	if out, err := exec.Command("modprobe", "-a", "loop", "fuse", "tun").CombinedOutput(); err != nil {
		return fmt.Errorf("cannot load drivers: %w: %s", err, out)
	}
	for _, node := range []string{"/dev/fuse", "/dev/net/tun"} {
		if err := os.Chmod(node, 0o666); err != nil {
			return err
		}
	}
	for link, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink(target, "/dev/"+link); err != nil {
			return err
		}
	}
	return nil
}

func attach(disks []plan.Disk) error {
	for _, d := range disks {
		if err := await(d.Device); err != nil {
			return err
		}
		if d.Dir != "" {
			if err := mount(d.Device, d.Dir, d.Type, d.Options); err != nil {
				return err
			}
			continue
		}
		if out, err := exec.Command("swapon", d.Device).CombinedOutput(); err != nil {
			return fmt.Errorf("cannot swap on %s: %w: %s", d.Device, err, out)
		}
	}
	return nil
}

func userDirectories() error {
	for _, dir := range []string{home, runtime} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
		if err := os.Chown(dir, plan.UserID, plan.UserID); err != nil {
			return err
		}
	}
	return os.Chmod("/tmp", 0o777|os.ModeSticky)
}
