//go:build linux

package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
	"github.com/forkbox/forkbox/internal/provider/native/hostmounts"
	"github.com/forkbox/forkbox/internal/storage/layers"
	"github.com/forkbox/forkbox/internal/wire"
)

// builder makes boxes run: it plans one, takes over a spare that is built alike or
// builds it, and finds again what an earlier daemon built.
type builder struct {
	home     string
	store    *layers.Store
	log      *slog.Logger
	mounts   *hostmounts.Table
	rootless bool
	program  *os.File // this binary, so that no box can write to it
	host     host
	building chan struct{} // a place for each box that may be built at once
	spares   *spares
	scenery  *scenery
	stacks   *stacks
	governor *governor
}

func newBuilder(p *Provider, log *slog.Logger) (*builder, error) {
	b := &builder{home: p.home, store: p.store, log: log, mounts: p.mounts, rootless: p.rootless,
		scenery: p.scenery, stacks: p.stacks, governor: p.governor, building: make(chan struct{}, runtime.NumCPU())}
	b.spares = &spares{builder: b, scenery: b.scenery, store: b.store, log: log, home: b.home}
	for _, dir := range []string{b.rootDir(), b.scenery.veilDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, forkbox.Wrap("open the store", err)
		}
	}
	var err error
	if b.program, err = ownProgram(b.rootless); err != nil {
		return nil, err
	}
	b.host = host{nofile: softLimit(), maxFD: maxFD(), lastCap: linux.LastCapability(), oneLower: !linux.HasLowerdirPlus()}
	if !b.rootless {
		b.host.masks = masks()
	}
	return b, nil
}

// buildLimit is how long making a box may take: far more than it ever does,
// so that a filesystem that hangs fails one box and not the daemon.
const buildLimit = 20 * time.Second

func (p *Provider) Start(ctx context.Context, box forkbox.Box) (forkbox.Instance, error) {
	if err := p.governor.canHold(box); err != nil {
		return nil, err
	}
	plan, err := p.builder.outline(box)
	if err != nil {
		return nil, p.builder.explain(err)
	}
	if err := p.stacks.checkShown(plan); err != nil {
		return nil, err
	}
	defer p.spares.stock(plan)
	if i := p.builder.adopt(ctx, plan); i != nil {
		return i, nil
	}
	i, err := p.builder.start(ctx, plan)
	if vanished(err) {
		i, err = p.builder.again(ctx, box, err)
	}
	if err != nil {
		return nil, p.builder.explain(err)
	}
	return i, nil
}

// attempts is how often a box is built anew when something vanishes meanwhile.
const attempts = 10

// again tries some more, when something may have been unmounted while the box
// was being built: a stick was pulled, a container ended. On a busy machine that
// happens again. It gives up with the first error, which is the better one if
// the host has not changed.
func (b *builder) again(ctx context.Context, box forkbox.Box, first error) (*instance, error) {
	for range attempts {
		if err := b.mounts.Reread(); err != nil {
			return nil, first
		}
		plan, err := b.outline(box)
		if err != nil {
			return nil, first
		}
		i, err := b.start(ctx, plan)
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
func (b *builder) start(ctx context.Context, plan *plan) (*instance, error) {
	select {
	case b.building <- struct{}{}:
		defer func() { <-b.building }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	socket := b.socket(plan.box.ID)
	group, err := b.governor.enclosed(ctx, plan)
	if err != nil {
		return nil, err
	}
	process, words, err := b.launch(ctx, plan)
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
	i := newInstance(wire.New(conn), process, socket, group, plan.box.Policy, true, b.spares.later)
	go b.seeOff(i, words)
	// A box that is full was given room to start in.
	if err := b.governor.quota(ctx, plan.box, false); err != nil {
		return nil, errors.Join(err, i.Stop(context.WithoutCancel(ctx), 0))
	}
	return i, nil
}

// explain turns what the kernel said into what a person can do about it.
func (b *builder) explain(err error) error {
	var step *linux.StepError
	if !errors.As(err, &step) {
		return forkbox.Wrap("start the box", err)
	}
	e := forkbox.Errorf(forkbox.Internal, "start the box", "%w", step)
	switch {
	case b.rootless && errors.Is(step, syscall.EPERM):
		e.Code = forkbox.Unsupported
		e.Hint("`forkbox doctor` says what this host does not allow, and how to allow it")
	case strings.HasPrefix(step.What, "mount overlay"):
		e.Code = forkbox.Unsupported
		e.Hint("the store %s may be on a filesystem that overlayfs cannot write to; set FORKBOX_HOME to one that it can (ext4, xfs, btrfs, tmpfs)", b.home)
		e.Hint("`forkbox doctor` tries it")
	}
	return e
}

// lastWords is how much init may say when it fails.
const lastWords = 16 << 10

// seeOff looks after what a box leaves when it ends. What init wrote to its
// stderr, if anything, is logged: it means that init broke.
func (b *builder) seeOff(i *instance, words *os.File) {
	defer words.Close()
	<-i.done
	if b.rootless {
		b.store.OpenWork(i.id())
	}
	text := make([]byte, lastWords)
	n, _ := words.ReadAt(text, 0)
	if said := bytes.Trim(text[:n], "\x00"); len(said) > 0 {
		b.log.Error("a box's init failed", "box", i.id(), "said", string(said))
	}
}

// launch forks the child that becomes the box's init.
func (b *builder) launch(ctx context.Context, plan *plan) (*linux.Process, *os.File, error) {
	closeBase, err := b.opened(plan)
	if err != nil {
		return nil, nil, err
	}
	defer closeBase()
	if err := b.stacks.layers(ctx, plan); err != nil {
		return nil, nil, err
	}
	socket := b.socket(plan.box.ID)
	if err := b.endStranger(ctx, plan.box); err != nil {
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
	process, err := b.fork(plan)
	if err != nil {
		words.Close()
	}
	return process, words, err
}

// endStranger ends an init of this box that the ledger does not know, as where
// an older ledger was put back: two of them would write to the same files, and
// the daemon would never end the first.
func (b *builder) endStranger(ctx context.Context, box forkbox.Box) error {
	if _, err := os.Lstat(b.socket(box.ID)); err != nil {
		return nil // as a rule
	}
	stranger, err := b.attach(ctx, box)
	if err != nil {
		return nil // it was killed
	}
	return stranger.Stop(ctx, 0)
}

func (b *builder) fork(plan *plan) (*linux.Process, error) {
	if err := b.lookAtProc(plan); err != nil {
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
		b.log.Warn("a filesystem is empty in the box", "box", plan.box.ID, "why", s)
	}
	return process, nil
}

func resumeChild(w *os.File) error {
	_, err := w.Write([]byte{1})
	return err
}

// outline decides what the box is made of, without making anything.
func (b *builder) outline(box forkbox.Box) (*plan, error) {
	if err := netSupport(box.Net); err != nil {
		return nil, err
	}
	c, err := b.scenery.concealment(box)
	if err != nil {
		return nil, err
	}
	pl := &plan{
		root: b.rootDir(), home: b.home, rootless: b.rootless, box: box, concealed: c,
		upper: map[string]string{}, work: map[string]string{},
		oneLower: b.host.oneLower, masks: b.host.masks, nofile: b.host.nofile, lastCap: b.host.lastCap, maxFD: b.host.maxFD,
		program: int(b.program.Fd()),
		cgroups: b.governor.namespaces(),
		sysfs:   b.rootless && box.Net != forkbox.NetHost,
	}
	// What the box's services began with lies below all that is the box's.
	if pl.layers, err = b.stacks.stack(slices.Concat(b.stacks.below(box), box.StillLayers())); err != nil {
		return nil, err
	}
	pl.views, err = b.scenery.views(pl)
	return pl, err
}

// opened has the plan's base open, where it has to be, and a mount of it that
// the box can take into its own namespace. close is called when the box was
// built, or not.
func (b *builder) opened(pl *plan) (closeOpened func(), err error) {
	base, closeBase, err := b.scenery.openBase(pl.box)
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

func (b *builder) attach(ctx context.Context, box forkbox.Box) (*instance, error) {
	op := "attach to box " + box.Name
	err := b.greet(box.ID)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, forkbox.Errorf(forkbox.Busy, op, "its init does not answer").
			Hint("it may be waiting for a filesystem that hangs; try again later")
	}
	if errors.Is(err, syscall.EAGAIN) {
		return nil, forkbox.Errorf(forkbox.Busy, op, "%w", err)
	}
	if err != nil {
		_ = os.Remove(b.socket(box.ID))
		return nil, forkbox.Errorf(forkbox.NotFound, op, "it does not run")
	}
	conn, err := linux.DialUnix(b.socket(box.ID))
	if err != nil {
		return nil, forkbox.Errorf(forkbox.NotFound, op, "it has just ended")
	}
	process, err := answering(conn)
	if err != nil {
		conn.Close()
		return nil, forkbox.Wrap(op, err)
	}
	i := newInstance(wire.New(conn), process, b.socket(box.ID), b.governor.groupOf(process), box.Policy, false, b.spares.later)
	i.still.Store(box.Paused != "")
	if box.Paused == "" { // an earlier daemon may have died while it stood still
		if err := i.Resume(ctx); err != nil {
			b.log.Error("a box stays frozen", "box", box.ID, "error", err)
		}
	}
	return i, nil
}

func (b *builder) socket(id string) string { return filepath.Join(b.store.Dir(id), "init.sock") }

// greetLimit is how long a box's init may take to answer: it may be in the
// middle of being built, by a child of a daemon that is no more.
const greetLimit = 10 * time.Second

// greet waits until the box's init answers. Only then does the kernel name
// init, and not the daemon that made the socket, as the peer of a connection.
func (b *builder) greet(id string) error {
	c, err := linux.DialUnix(b.socket(id))
	if err != nil {
		return err
	}
	conn := wire.New(c)
	defer conn.Close()
	_ = c.SetDeadline(time.Now().Add(greetLimit))
	if err := conn.Send(boxinit.Request{Verb: boxinit.DoList}); err != nil {
		return err
	}
	var rep boxinit.Reply
	files, err := conn.Recv(&rep)
	wire.CloseAll(files...)
	return err
}

// answering holds the process that listens at the other end.
func answering(conn *net.UnixConn) (*linux.Process, error) {
	pid, err := linux.PeerPID(conn)
	if err != nil {
		return nil, err
	}
	process, err := linux.Find(pid)
	if err != nil {
		return nil, fmt.Errorf("its init (pid %d): %w", pid, err)
	}
	return process, nil
}

func (b *builder) rootDir() string { return filepath.Join(b.home, "mnt", "root") }
