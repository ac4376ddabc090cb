//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// Checks tries what a box needs, for real, and where something fails says
// what to change.
func (p *Provider) Checks(ctx context.Context) []forkbox.Check {
	d := &doctor{home: p.home, rootless: p.rootless, provider: p, scenery: p.scenery, governor: p.governor}
	checks := []forkbox.Check{d.checkKernel(), d.checkUserNamespaces()}
	checks = append(checks, d.checkStore(), d.checkBox(ctx, forkbox.NetNone), d.checkBox(ctx, forkbox.NetHost), d.checkGate(ctx))
	return append(checks, d.governor.check(), checkContainer())
}

// Probe tries whether a box would start now: its store can be written, and a process
// can enter namespaces of its own and mount there. It takes some milliseconds and
// leaves nothing.
func (p *Provider) Probe(context.Context) error {
	return (&doctor{rootless: p.rootless, scenery: p.scenery}).tryUserNamespace()
}

// doctor tries what boxes need of this host.
type doctor struct {
	home     string
	rootless bool
	provider *Provider
	scenery  *scenery
	governor *governor
}

func (d *doctor) checkKernel() forkbox.Check {
	var uts unix.Utsname
	_ = unix.Uname(&uts)
	c := forkbox.Check{Name: "kernel", Status: forkbox.OK, Detail: "Linux " + unix.ByteSliceToString(uts.Release[:])}
	if !linux.KernelAtLeast(5, 12) {
		c.Status, c.Remedy = forkbox.Fail, "forkbox needs Linux 5.12 or later"
	}
	if d.rootless {
		c.Detail += ", without root: boxes have one user, you; directories of reality cannot be renamed in them (programs see EXDEV and copy)"
	} else {
		c.Detail += ", as root: boxes have every user"
	}
	if linux.Cgo {
		c.Status, c.Remedy = forkbox.Warn, "this forkbox was built with cgo: boxes of images may lack its C library. Build it without: CGO_ENABLED=0, or make build"
	}
	return c
}

// userNamespaceKnobs are the settings by which distributions forbid
// unprivileged user namespaces, with the value that allows them.
var userNamespaceKnobs = []struct{ path, bad, remedy string }{
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
		"AppArmor restricts user namespaces: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give the forkbox program an AppArmor profile with `userns,`"},
	{"/proc/sys/kernel/unprivileged_userns_clone", "0",
		"sudo sysctl -w kernel.unprivileged_userns_clone=1"},
	{"/proc/sys/user/max_user_namespaces", "0",
		"sudo sysctl -w user.max_user_namespaces=15000"},
}

func (d *doctor) checkUserNamespaces() forkbox.Check {
	c := forkbox.Check{Name: "user namespaces", Status: forkbox.OK, Detail: "a process can enter one"}
	if err := d.tryUserNamespace(); err != nil {
		c.Status, c.Detail = forkbox.Fail, err.Error()
		c.Remedy = "run the daemon as root: sudo forkbox serve"
		for _, knob := range userNamespaceKnobs {
			if raw, err := os.ReadFile(knob.path); err == nil && strings.TrimSpace(string(raw)) == knob.bad {
				c.Remedy = knob.remedy
				break
			}
		}
	}
	return c
}

// tryUserNamespace enters one and mounts in it: AppArmor lets a process enter
// and takes its capabilities away there.
func (d *doctor) tryUserNamespace() error {
	s := linux.NewScript()
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS)
	if d.rootless {
		s.MapSelf(os.Geteuid(), os.Getegid())
	}
	s.Private()
	s.Mount("forkbox", d.scenery.veilDir(), "tmpfs", 0, "")
	child, err := s.Fork(flags)
	if err != nil {
		return err
	}
	_, err = child.Wait(buildLimit)
	_ = child.Hold().Wait()
	return err
}

func (d *doctor) checkStore() forkbox.Check {
	c := forkbox.Check{Name: "store", Status: forkbox.OK}
	var st unix.Statfs_t
	if err := unix.Statfs(d.home, &st); err != nil {
		return forkbox.Check{Name: c.Name, Status: forkbox.Fail, Detail: err.Error(), Remedy: "set FORKBOX_HOME to a directory you can write to"}
	}
	free := st.Bavail * uint64(st.Bsize)
	c.Detail = fmt.Sprintf("%s on %s, %d MiB free", d.home, fsName(st.Type), free>>20)
	switch {
	case st.Type == unix.OVERLAYFS_SUPER_MAGIC:
		c.Status = forkbox.Warn
		c.Remedy = "overlayfs cannot write to overlayfs (a container's own filesystem): set FORKBOX_HOME to a volume, or to a directory on tmpfs"
	case st.Type == unix.NFS_SUPER_MAGIC:
		c.Status = forkbox.Warn
		c.Remedy = "overlayfs cannot write to NFS: set FORKBOX_HOME to a local disk"
	case free < 1<<30:
		c.Status, c.Remedy = forkbox.Warn, "less than 1 GiB is free for what boxes write; forkbox gc and forkbox rm BOX free some, forkbox du says what takes it"
	}
	return c
}

func fsName(magic int64) string {
	names := map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
		unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.NFS_SUPER_MAGIC: "nfs",
		0x2fc12fc1: "zfs", 0xf2f52010: "f2fs",
	}
	if name := names[magic]; name != "" {
		return name
	}
	return fmt.Sprintf("filesystem type %#x", magic)
}

// checkBox makes a box, runs init in it, and takes it down again.
func (d *doctor) checkBox(ctx context.Context, net forkbox.Net) forkbox.Check {
	c := forkbox.Check{Name: "a box with --net " + string(net), Status: forkbox.OK}
	box := forkbox.Box{ID: fmt.Sprintf("doctor-%d-%s", time.Now().UnixNano(), net), Name: "doctor", Net: net,
		Owner: forkbox.Owner{UID: os.Geteuid(), GID: os.Getegid()}}
	defer d.provider.Remove(context.WithoutCancel(ctx), box)
	err := d.provider.Prepare(ctx, box)
	if err == nil {
		err = d.tryBox(ctx, box)
	}
	if err != nil {
		c.Status, c.Detail = forkbox.Fail, err.Error()
		c.Remedy = "see the checks above"
		return c
	}
	c.Detail = "started and stopped"
	if net == forkbox.NetHost {
		c.Detail += "; it shares the host's network and abstract sockets"
	}
	return c
}

// checkGate is a box like any other where the host has what a gate needs, and
// else only a warning: boxes can do without.
func (d *doctor) checkGate(ctx context.Context) forkbox.Check {
	var e *forkbox.Error
	if err := canGate(); errors.As(err, &e) {
		return forkbox.Check{Name: "a box with --net policy", Status: forkbox.Warn, Detail: e.Error(), Remedy: strings.Join(e.Hints, "; ")}
	}
	return d.checkBox(ctx, forkbox.NetPolicy)
}

func (d *doctor) tryBox(ctx context.Context, box forkbox.Box) error {
	i, err := d.provider.Start(ctx, box)
	if err != nil {
		return err
	}
	_, err = i.Processes(ctx)
	if stopErr := i.Stop(context.WithoutCancel(ctx), 0); err == nil {
		err = stopErr
	}
	return err
}

func checkContainer() forkbox.Check {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return forkbox.Check{Name: "container", Status: forkbox.Info,
				Detail: mark + " exists: this may be a container, whose limits apply to boxes too"}
		}
	}
	return forkbox.Check{Name: "container", Status: forkbox.Info, Detail: "not inside one"}
}
