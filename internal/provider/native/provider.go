//go:build linux

package native

import (
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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cgroup"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
	"github.com/forkbox/forkbox/internal/storage/layers"
	"github.com/forkbox/forkbox/internal/wire"
)

// Name of this provider.
const Name = "native"

// Provider makes boxes of namespaces and overlays.
type Provider struct {
	home     string
	store    *layers.Store
	log      *slog.Logger
	mounts   *mountTable
	program  *os.File // this binary, so that no box can write to it
	rootless bool
	host     host
	spares   *spares
	veils    *veils
	building chan struct{} // a place for each box that may be built at once
	groups   *cgroup.Host  // nil where the host lets us make none
	noGroups error         // why
	starts   *atomic.Int64
	trust    func(ca string) map[string][]byte // see Trust
}

var _ forkbox.Provider = (*Provider)(nil)

// New makes the provider for the store below home.
func New(home string, store *layers.Store, log *slog.Logger) (*Provider, error) {
	home, err := filepath.EvalSymlinks(home) // what has to be hidden is the real place
	if err != nil {
		return nil, forkbox.Wrap("open the store", err)
	}
	mounts, err := openMountTable()
	if err != nil {
		return nil, forkbox.Wrap("read the mount table", err)
	}
	p := &Provider{home: home, store: store, log: log, mounts: mounts, rootless: !linux.RealRoot()}
	if linux.Cgo && p.rootless {
		return nil, forkbox.Errorf(forkbox.Unsupported, "make boxes without root", "this forkbox was built with cgo, and a box's init could not keep its rights from what it runs").
			Hint("build it without: CGO_ENABLED=0 go install ./cmd/forkbox, or make build")
	}
	for _, dir := range []string{p.rootDir(), p.veilDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, forkbox.Wrap("open the store", err)
		}
	}
	if p.program, err = ownProgram(p.rootless); err != nil {
		return nil, err
	}
	p.host = host{nofile: softLimit(), maxFD: maxFD(), lastCap: linux.LastCapability(), oneLower: !linux.HasLowerdirPlus()}
	if !p.rootless {
		p.host.masks = masks()
	}
	p.openGroups()
	p.starts = new(atomic.Int64)
	p.starts.Store(time.Now().UnixMilli()) // not those of an earlier daemon
	p.spares, p.veils = &spares{provider: p}, &veils{}
	p.building = make(chan struct{}, runtime.NumCPU())
	if err := p.emptySpool(); err != nil {
		return nil, forkbox.Wrap("open the store", err)
	}
	return p, p.spares.clear(context.Background())
}

// Trust says what files make programs trust a certificate: their content by
// path. It is called before the first box is started.
func (p *Provider) Trust(files func(ca string) map[string][]byte) { p.trust = files }

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

// Attach finds the init of a box that an earlier daemon started: the process
// that answers on the box's socket.
func (p *Provider) Attach(ctx context.Context, box forkbox.Box) (forkbox.Instance, error) {
	op := "attach to box " + box.Name
	err := p.greet(box.ID)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, forkbox.Errorf(forkbox.Busy, op, "its init does not answer").
			Hint("it may be waiting for a filesystem that hangs; try again later")
	}
	if errors.Is(err, syscall.EAGAIN) {
		return nil, forkbox.Errorf(forkbox.Busy, op, "%w", err)
	}
	if err != nil {
		_ = os.Remove(p.socket(box.ID))
		return nil, forkbox.Errorf(forkbox.NotFound, op, "it does not run")
	}
	conn, err := linux.DialUnix(p.socket(box.ID))
	if err != nil {
		return nil, forkbox.Errorf(forkbox.NotFound, op, "it has just ended")
	}
	process, err := answering(conn)
	if err != nil {
		conn.Close()
		return nil, forkbox.Wrap(op, err)
	}
	i := newInstance(wire.New(conn), process, p.socket(box.ID), p.groupOf(process), box.Policy, p.spares.later)
	i.still.Store(box.Paused != "")
	if box.Paused == "" { // an earlier daemon may have died while it stood still
		if err := i.Resume(ctx); err != nil {
			p.log.Error("a box stays frozen", "box", box.ID, "error", err)
		}
	}
	return i, nil
}

// groupOf is the cgroup that a box's init is in.
func (p *Provider) groupOf(process *linux.Process) *cgroup.Group {
	if p.groups == nil {
		return nil
	}
	g, err := p.groups.Find(process.PID)
	if err != nil {
		return nil // of a daemon that could make none
	}
	return g
}

// greetLimit is how long a box's init may take to answer: it may be in the
// middle of being built, by a child of a daemon that is no more.
const greetLimit = 10 * time.Second

// greet waits until the box's init answers. Only then does the kernel name
// init, and not the daemon that made the socket, as the peer of a connection.
func (p *Provider) greet(id string) error {
	c, err := linux.DialUnix(p.socket(id))
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

// Stored lists the boxes that have files, for doctor: one that the ledger does
// not know is work that its owner cannot find.
func (p *Provider) Stored(context.Context) ([]string, error) {
	ids, err := p.store.List()
	return slices.DeleteFunc(ids, func(id string) bool { return strings.HasPrefix(id, sparePrefix) }), err
}
