//go:build linux

package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cgroup"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/wire"
)

// buildLimit is how long making a box may take: far more than it ever does,
// so that a filesystem that hangs fails one box and not the daemon.
const buildLimit = 20 * time.Second

func (p *Provider) Start(ctx context.Context, box forkbox.Box) (forkbox.Instance, error) {
	if err := p.canHold(box); err != nil {
		return nil, err
	}
	plan, err := p.outline(box)
	if err != nil {
		return nil, p.explain(err)
	}
	if err := p.checkShown(plan); err != nil {
		return nil, err
	}
	defer p.spares.stock(plan)
	if i := p.adopt(ctx, plan); i != nil {
		return i, nil
	}
	i, err := p.start(ctx, plan)
	if vanished(err) {
		i, err = p.again(ctx, box, err)
	}
	if err != nil {
		return nil, p.explain(err)
	}
	return i, nil
}

// attempts is how often a box is built anew when something vanishes meanwhile.
const attempts = 10

// again tries some more, when something may have been unmounted while the box
// was being built: a stick was pulled, a container ended. On a busy machine that
// happens again. It gives up with the first error, which is the better one if
// the host has not changed.
func (p *Provider) again(ctx context.Context, box forkbox.Box, first error) (*instance, error) {
	for range attempts {
		if err := p.mounts.reread(); err != nil {
			return nil, first
		}
		plan, err := p.outline(box)
		if err != nil {
			return nil, first
		}
		i, err := p.start(ctx, plan)
		if err == nil {
			return i, nil
		}
		if !vanished(err) || ctx.Err() != nil {
			return nil, first
		}
	}
	return nil, first
}

// vanished says whether an error can come of something that was there when the
// box was planned and is not any more.
func vanished(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) }

// start builds a box from nothing. More at once than there are processors
// would only be in each other's way.
func (p *Provider) start(ctx context.Context, plan *plan) (*instance, error) {
	select {
	case p.building <- struct{}{}:
		defer func() { <-p.building }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	socket := p.socket(plan.box.ID)
	group, err := p.enclosed(ctx, plan)
	if err != nil {
		return nil, err
	}
	process, words, err := p.launch(ctx, plan)
	wire.CloseAll(plan.enter...)
	if err != nil {
		_ = os.Remove(socket)
		if group != nil {
			_ = group.Remove(context.WithoutCancel(ctx))
		}
		return nil, err
	}
	conn, err := linux.DialUnix(socket)
	if err != nil {
		_ = process.Kill(unix.SIGKILL)
		_ = process.Wait()
		_ = os.Remove(socket)
		if group != nil {
			_ = group.Remove(context.WithoutCancel(ctx))
		}
		words.Close()
		return nil, err
	}
	i := newInstance(wire.New(conn), process, socket, group, plan.box.Policy, p.spares.later)
	i.fresh = true
	go p.seeOff(i, words)
	// A box that is full was given room to start in.
	if err := p.quota(ctx, plan.box, false); err != nil {
		return nil, errors.Join(err, i.Stop(context.WithoutCancel(ctx), 0))
	}
	return i, nil
}

// enclosed makes the box's cgroup, opens the way into it, and limits the disk.
func (p *Provider) enclosed(ctx context.Context, plan *plan) (*cgroup.Group, error) {
	if err := p.quota(ctx, plan.box, false); err != nil {
		return nil, err
	}
	group, err := p.group(plan.box)
	if err != nil || group == nil {
		return nil, err
	}
	entry, err := disowned(group.Init())
	if err != nil {
		return nil, errors.Join(err, group.Remove(context.WithoutCancel(ctx)))
	}
	plan.enter = entrance(entry)
	return group, nil
}

// explain turns what the kernel said into what a person can do about it.
func (p *Provider) explain(err error) error {
	var step *linux.StepError
	if !errors.As(err, &step) {
		return forkbox.Wrap("start the box", err)
	}
	e := forkbox.Errorf(forkbox.Internal, "start the box", "%w", step)
	switch {
	case p.rootless && errors.Is(step, syscall.EPERM):
		e.Code = forkbox.Unsupported
		e.Hint("`forkbox doctor` says what this host does not allow, and how to allow it")
	case strings.HasPrefix(step.What, "mount overlay"):
		e.Code = forkbox.Unsupported
		e.Hint("the store %s may be on a filesystem that overlayfs cannot write to; set FORKBOX_HOME to one that it can (ext4, xfs, btrfs, tmpfs)", p.home)
		e.Hint("`forkbox doctor` tries it")
	}
	return e
}

// lastWords is how much init may say when it fails.
const lastWords = 16 << 10

// seeOff looks after what a box leaves when it ends. What init wrote to its
// stderr, if anything, is logged: it means that init broke.
func (p *Provider) seeOff(i *instance, words *os.File) {
	defer words.Close()
	<-i.done
	if p.rootless {
		p.store.OpenWork(i.id())
	}
	text := make([]byte, lastWords)
	n, _ := words.ReadAt(text, 0)
	if said := bytes.Trim(text[:n], "\x00"); len(said) > 0 {
		p.log.Error("a box's init failed", "box", i.id(), "said", string(said))
	}
}

// launch forks the child that becomes the box's init.
func (p *Provider) launch(ctx context.Context, plan *plan) (*linux.Process, *os.File, error) {
	closeBase, err := p.opened(plan)
	if err != nil {
		return nil, nil, err
	}
	defer closeBase()
	if err := p.layers(ctx, plan); err != nil {
		return nil, nil, err
	}
	socket := p.socket(plan.box.ID)
	if err := p.endStranger(ctx, plan.box); err != nil {
		return nil, nil, err
	}
	_ = os.Remove(socket) // of an init that was killed
	listener, err := linux.ListenUnix(socket)
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	words, err := linux.Scratch("last words", lastWords)
	if err != nil {
		return nil, nil, err
	}
	plan.listener, plan.stderr = int(listener.Fd()), int(words.Fd())
	process, err := p.fork(plan)
	if err != nil {
		words.Close()
	}
	return process, words, err
}

// endStranger ends an init of this box that the ledger does not know, as where
// an older ledger was put back: two of them would write to the same files, and
// the daemon would never end the first.
func (p *Provider) endStranger(ctx context.Context, box forkbox.Box) error {
	if _, err := os.Lstat(p.socket(box.ID)); err != nil {
		return nil // as a rule
	}
	stranger, err := p.Attach(ctx, box)
	if err != nil {
		return nil // it was killed
	}
	return stranger.Stop(ctx, 0)
}

func (p *Provider) fork(plan *plan) (*linux.Process, error) {
	if err := p.lookAtProc(plan); err != nil {
		return nil, err
	}
	reached, notify, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer wire.CloseAll(reached, notify)
	wait, resume, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer wire.CloseAll(wait, resume)
	plan.notify, plan.resume, plan.resumeEnd = int(notify.Fd()), int(wait.Fd()), int(resume.Fd())
	child, err := plan.script().Fork(plan.forkFlags())
	if err != nil {
		return nil, err
	}
	process := child.Hold()
	notify.Close()
	_ = reached.SetReadDeadline(time.Now().Add(buildLimit))
	if n, _ := reached.Read(make([]byte, 1)); n == 1 {
		err = errors.Join(linux.MapAll(child.PID), resumeChild(resume))
	}
	skipped, waitErr := child.Wait(buildLimit)
	if err = errors.Join(err, waitErr); err != nil {
		_ = process.Kill(unix.SIGKILL)
		_ = process.Wait()
		return nil, err
	}
	for _, s := range skipped {
		p.log.Warn("a filesystem is empty in the box", "box", plan.box.ID, "why", s)
	}
	return process, nil
}

func resumeChild(w *os.File) error {
	_, err := w.Write([]byte{1})
	return err
}

// outline decides what the box is made of, without making anything.
func (p *Provider) outline(box forkbox.Box) (*plan, error) {
	if err := p.NetSupport(box.Net); err != nil {
		return nil, err
	}
	c, err := p.concealment(box)
	if err != nil {
		return nil, err
	}
	pl := &plan{
		root: p.rootDir(), home: p.home, rootless: p.rootless, box: box, concealed: c,
		upper: map[string]string{}, work: map[string]string{},
		oneLower: p.host.oneLower, masks: p.host.masks, nofile: p.host.nofile, lastCap: p.host.lastCap, maxFD: p.host.maxFD,
		program: int(p.program.Fd()),
		cgroups: p.namespaces(),
		sysfs:   p.rootless && box.Net != forkbox.NetHost,
	}
	if pl.layers, err = p.stack(p.below(box)); err != nil {
		return nil, err
	}
	pl.views, err = p.views(pl)
	return pl, err
}

// opened has the plan's base open, where it has to be, and a mount of it that
// the box can take into its own namespace. close is called when the box was
// built, or not.
func (p *Provider) opened(pl *plan) (closeOpened func(), err error) {
	base, closeBase, err := p.openBase(pl.box)
	pl.base = base
	if err != nil || base.fd == 0 {
		return closeBase, err
	}
	if pl.tree, err = linux.CloneTree(base.fd); err != nil {
		closeBase()
		return nil, fmt.Errorf("clone %s: %w", pl.box.Base.Root, err)
	}
	return func() { unix.Close(pl.tree); closeBase() }, nil
}

// views is what the box's root is put together from.
func (p *Provider) views(pl *plan) ([]view, error) {
	views, err := p.plainViews(pl)
	if pl.box.Base.Foreign && !p.rootless {
		for i := range views {
			views[i].Attr |= unix.MOUNT_ATTR_NOSUID
		}
	}
	return views, err
}

func (p *Provider) plainViews(pl *plan) ([]view, error) {
	if !pl.onReality() {
		return []view{{Path: "/"}}, nil
	}
	mounts, points, age, err := p.mounts.mounts()
	for err == nil && p.mounts.moved(pl.concealed.turn) { // a mount came that may show what is hidden
		if pl.concealed, err = p.concealment(pl.box); err == nil {
			mounts, points, age, err = p.mounts.mounts()
		}
	}
	if err != nil {
		return nil, err
	}
	pl.age, pl.pinned = age, pins(mounts, pl.concealed.hidden)
	if p.rootless {
		return userViews(mounts, points, pl.concealed.hidden, pl.concealed.veil), nil
	}
	return rootViews(mounts, pl.concealed.hidden, pl.concealed.veil), nil
}

// below are the layers that what a box wrote lies over. One that began as a
// copy of the topmost lies over the rest, also where that is not yet written
// down.
func (p *Provider) below(box forkbox.Box) []string {
	if len(box.Layers) > 0 && !box.Bare && !p.store.Stacks() && p.store.Origin(box.ID) == box.Layers[0] {
		return box.Layers[1:]
	}
	return box.Layers
}

// stack finds the directories of layers, by the filesystem they are of.
func (p *Provider) stack(ids []string) (map[string][]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	stack := map[string][]string{}
	for _, id := range ids {
		uppers, err := p.store.LayerUppers(id)
		if err != nil {
			return nil, err
		}
		for _, u := range uppers {
			stack[u.Mount] = append(stack[u.Mount], u.Dir)
		}
	}
	return stack, nil
}

// layers makes what the overlays consist of: the veil, and the directories
// that the box's changes go to.
func (p *Provider) layers(ctx context.Context, pl *plan) error {
	pl.veil = pl.concealed.lay(pl.box, p.trusted)
	if p.rootless && pl.onReality() {
		if err := p.layer(ctx, pl, "/"); err != nil {
			return err
		}
	}
	for _, v := range pl.views {
		if v.Kind != overlaid {
			continue
		}
		if err := p.layer(ctx, pl, v.Path); err != nil {
			return err
		}
	}
	return nil
}

// layer makes the upper and work directory for one filesystem. The upper
// starts with the attributes of the directory it covers, a layer's or the
// base's: the overlay's root shows them.
func (p *Provider) layer(ctx context.Context, pl *plan, mount string) error {
	upper, made, err := p.store.NewUpper(pl.box.ID, mount)
	if err == nil && made {
		if err = p.likeBelow(upper, pl.real(mount), pl.layers[mount]); err != nil {
			_ = os.Remove(upper) // the next attempt begins as this one did
		}
	}
	if err != nil {
		return err
	}
	work, err := p.store.FreshWork(ctx, pl.box.ID, mount)
	pl.upper[mount], pl.work[mount] = upper, work
	return err
}

// likeBelow has the root of a new upper look like what it covers: the topmost
// layer or, where there is none, the base. What a box set of extended attributes is
// carried along; those of the base are not shown in boxes at all.
func (p *Provider) likeBelow(dir, base string, layers []string) error {
	if len(layers) > 0 {
		base = layers[0]
		if err := p.likeXattrs(dir, base); err != nil {
			return err
		}
	}
	var st unix.Stat_t
	if err := unix.Stat(base, &st); err != nil {
		return &os.PathError{Op: "look at", Path: base, Err: err}
	}
	if !p.rootless {
		if err := os.Chown(dir, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	if err := unix.Chmod(dir, st.Mode&0o7777); err != nil {
		return &os.PathError{Op: "set the mode of", Path: dir, Err: err}
	}
	return nil
}

// likeXattrs copies extended attributes but for overlayfs's own.
func (p *Provider) likeXattrs(dir, from string) error {
	names := make([]byte, 64<<10)
	n, err := unix.Llistxattr(from, names)
	if err != nil || n == 0 {
		return nil // a filesystem without any
	}
	for _, name := range strings.Split(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if strings.HasPrefix(name, p.xattrPrefix()) {
			continue
		}
		value := make([]byte, 64<<10)
		n, err := unix.Lgetxattr(from, name, value)
		if err == nil {
			err = unix.Lsetxattr(dir, name, value[:n], 0)
		}
		if err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EOPNOTSUPP) {
			return err
		}
	}
	return nil
}
