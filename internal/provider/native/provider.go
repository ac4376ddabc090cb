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
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/layers"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/wire"
)

// Name of this provider.
const Name = "native"

// buildLimit is how long making a box may take: far more than it ever does,
// so that a filesystem that hangs fails one box and not the daemon.
const buildLimit = 20 * time.Second

// Provider makes boxes of namespaces and overlays.
type Provider struct {
	home     string
	store    *layers.Store
	log      *slog.Logger
	mounts   *mountTable
	program  *os.File // this binary, so that no box can write to it
	null     *os.File
	rootless bool
	host     host
}

// host is what does not change while the daemon runs.
type host struct {
	nofile   unix.Rlimit
	lastCap  int
	oneLower bool
	masks    []mask
}

var _ forkbox.Provider = (*Provider)(nil)

// New makes the provider for the store below home.
func New(home string, store *layers.Store, log *slog.Logger) (*Provider, error) {
	mounts, err := openMountTable()
	if err != nil {
		return nil, forkbox.Wrap("read the mount table", err)
	}
	p := &Provider{home: home, store: store, log: log, mounts: mounts, rootless: !linux.RealRoot()}
	for _, dir := range []string{p.rootDir(), p.veilDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, forkbox.Wrap("open the store", err)
		}
	}
	if p.program, err = ownProgram(p.rootless); err != nil {
		return nil, err
	}
	if p.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	p.host = host{nofile: softLimit(), lastCap: linux.LastCapability(), oneLower: !linux.HasLowerdirPlus()}
	if !p.rootless {
		p.host.masks = masks()
	}
	return p, nil
}

// ownProgram opens this binary as a box's init will execute it. Root in a box
// of root's could open /proc/1/exe for writing and so replace the program on
// the host; what it finds there is a read-only mount. (An unprivileged box has
// nobody who may look into init.)
func ownProgram(rootless bool) (*os.File, error) {
	if rootless {
		fd, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
		return os.NewFile(uintptr(fd), "forkbox"), err
	}
	fd, err := linux.ReadOnlyClone("/proc/self/exe")
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Unsupported, "protect the forkbox program from boxes", "%w", err).
			Hint("forkbox needs Linux 5.12 or later")
	}
	return os.NewFile(uintptr(fd), "forkbox"), nil
}

// softLimit is the limit on open files that the user has. The Go runtime has
// raised this process's own; a child that is not a Go program tells.
func softLimit() unix.Rlimit {
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	out, err := exec.Command("/bin/sh", "-c", "ulimit -Sn").Output()
	if n, perr := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64); err == nil && perr == nil && n <= limit.Max {
		limit.Cur = n
	}
	return limit
}

// masks lists what of /proc and /sys is covered in a box of a root daemon:
// its root has the host's root uid, and files that check only that.
func masks() []mask {
	candidates := []mask{
		{"/proc/sys", true, true}, {"/proc/irq", true, true}, {"/proc/bus", true, true}, {"/proc/fs", true, true},
		{"/proc/sysrq-trigger", true, false}, {"/proc/mtrr", true, false},
		{"/proc/acpi", false, true}, {"/proc/asound", false, true}, {"/proc/scsi", false, true},
		{"/proc/dynamic_debug", false, true}, {"/sys/firmware", false, true}, {"/sys/kernel/debug", false, true},
		{"/proc/kcore", false, false}, {"/proc/keys", false, false}, {"/proc/key-users", false, false},
		{"/proc/kmsg", false, false}, {"/proc/timer_list", false, false}, {"/proc/latency_stats", false, false},
		{"/proc/sched_debug", false, false}, {"/proc/kpagecount", false, false}, {"/proc/kpageflags", false, false},
		{"/proc/kpagecgroup", false, false},
	}
	var list []mask
	for _, m := range candidates {
		if _, err := os.Lstat(m.path); err == nil {
			list = append(list, m)
		}
	}
	return list
}

func (p *Provider) Name() string { return Name }

func (p *Provider) rootDir() string { return filepath.Join(p.home, "mnt", "root") }
func (p *Provider) veilDir() string { return filepath.Join(p.home, "mnt", "veil") }

func (p *Provider) socket(id string) string { return filepath.Join(p.store.Dir(id), "init.sock") }

func (p *Provider) Prepare(ctx context.Context, box forkbox.Box) error {
	return p.store.Create(ctx, box.ID)
}

func (p *Provider) Remove(ctx context.Context, box forkbox.Box) error {
	return p.store.Remove(ctx, box.ID)
}

func (p *Provider) Start(ctx context.Context, box forkbox.Box) (forkbox.Instance, error) {
	process, err := p.launch(ctx, box)
	if err != nil {
		_ = os.Remove(p.socket(box.ID))
		return nil, p.explain(err)
	}
	conn, err := linux.DialUnix(p.socket(box.ID))
	if err != nil {
		_ = process.Kill(unix.SIGKILL)
		_ = process.Wait()
		_ = os.Remove(p.socket(box.ID))
		return nil, forkbox.Wrap("start the box", err)
	}
	return newInstance(wire.New(conn), process, p.socket(box.ID)), nil
}

// launch forks the child that becomes the box's init.
func (p *Provider) launch(ctx context.Context, box forkbox.Box) (*linux.Process, error) {
	plan, err := p.plan(ctx, box)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(p.socket(box.ID)) // of an init that was killed
	listener, err := linux.ListenUnix(p.socket(box.ID))
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	stderr, err := os.OpenFile(filepath.Join(p.store.Dir(box.ID), "init.log"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	plan.listener, plan.stderr = int(listener.Fd()), int(stderr.Fd())
	return p.fork(plan)
}

func (p *Provider) fork(plan *plan) (*linux.Process, error) {
	reached, notify, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer closeAll(reached, notify)
	wait, resume, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer closeAll(wait, resume)
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

// plan decides what the box is made of and makes its directories.
func (p *Provider) plan(ctx context.Context, box forkbox.Box) (*plan, error) {
	mounts, points, err := p.mounts.mounts()
	if err != nil {
		return nil, err
	}
	veil, hidden := p.conceal(box)
	pl := &plan{
		root: p.rootDir(), rootless: p.rootless, box: box, veil: veil,
		upper: map[string]string{}, work: map[string]string{},
		oneLower: p.host.oneLower, proc: p.host.masks, nofile: p.host.nofile, lastCap: p.host.lastCap,
		program: int(p.program.Fd()), null: int(p.null.Fd()),
		sysfs: p.rootless && box.Net != forkbox.NetHost,
	}
	if p.rootless {
		pl.views = userViews(mounts, points, hidden)
		if err := p.layer(ctx, pl, "/"); err != nil {
			return nil, err
		}
	} else {
		pl.views = rootViews(mounts, hidden)
	}
	for _, v := range pl.views {
		if v.Kind != overlaid {
			continue
		}
		if err := p.layer(ctx, pl, v.Path); err != nil {
			return nil, err
		}
	}
	return pl, nil
}

// layer makes the upper and work directory for one filesystem. The upper
// starts with the attributes of the directory it covers: the overlay's root
// shows them.
func (p *Provider) layer(ctx context.Context, pl *plan, mount string) error {
	name, err := layers.Escape(mount)
	if err != nil {
		return err
	}
	upper := filepath.Join(p.store.Upper(pl.box.ID), name)
	err = os.Mkdir(upper, 0o700)
	if err == nil {
		err = p.likeBase(upper, mount)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	work, err := p.store.FreshWork(ctx, pl.box.ID, mount)
	pl.upper[mount], pl.work[mount] = upper, work
	return err
}

func (p *Provider) likeBase(dir, base string) error {
	var st unix.Stat_t
	if err := unix.Stat(base, &st); err != nil {
		return err
	}
	if !p.rootless {
		if err := unix.Chown(dir, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	return unix.Chmod(dir, st.Mode&0o7777)
}

// Attach finds the init of a box that an earlier daemon started: whoever
// answers on the box's socket.
func (p *Provider) Attach(ctx context.Context, box forkbox.Box) (forkbox.Instance, error) {
	conn, err := linux.DialUnix(p.socket(box.ID))
	if err != nil {
		_ = os.Remove(p.socket(box.ID))
		return nil, forkbox.Errorf(forkbox.NotFound, "attach to box "+box.Name, "it does not run")
	}
	process, err := answering(conn)
	if err != nil {
		conn.Close()
		return nil, forkbox.Wrap("attach to box "+box.Name, err)
	}
	return newInstance(wire.New(conn), process, p.socket(box.ID)), nil
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

// hosts is reality's /etc/hosts with the box's own name in it.
func hosts(name string) []byte {
	raw, _ := os.ReadFile("/etc/hosts")
	raw = append(bytes.TrimRight(raw, "\n"), '\n')
	return append(raw, "127.0.1.1\t"+name+"\n"...)
}

// Stored lists the boxes that have files, for doctor: one that the ledger does
// not know is somebody's work that nobody finds.
func (p *Provider) Stored(context.Context) ([]string, error) { return p.store.List() }
