//go:build linux

package native

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/provider/native/hostmounts"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

// Name of this provider.
const Name = "native"

// Provider makes boxes of namespaces and overlays.
type Provider struct {
	home     string
	store    *layers.Store
	mounts   *hostmounts.Table
	rootless bool
	spares   *spares

	scenery  *scenery  // what boxes are shown of the host
	stacks   *stacks   // their files
	images   *images   // files that come from elsewhere, or go there
	governor *governor // what they may use
	builder  *builder  // makes them run
}

var _ forkbox.Provider = (*Provider)(nil)

// New makes the provider for the store below home.
func New(home string, store *layers.Store, log *slog.Logger) (*Provider, error) {
	home, err := filepath.EvalSymlinks(home) // what has to be hidden is the real place
	if err != nil {
		return nil, forkbox.Wrap("open the store", err)
	}
	mounts, err := hostmounts.Open()
	if err != nil {
		return nil, forkbox.Wrap("read the mount table", err)
	}
	rootless := !linux.RealRoot()
	if linux.Cgo && rootless {
		return nil, forkbox.Errorf(forkbox.Unsupported, "make boxes without root", "this forkbox was built with cgo, and a box's init could not keep its rights from what it runs").
			Hint("build it without: CGO_ENABLED=0 go install ./cmd/forkbox, or make build")
	}
	p := &Provider{home: home, store: store, mounts: mounts, rootless: rootless}
	p.scenery = &scenery{home: home, mounts: mounts, rootless: rootless, veils: &veils{}}
	p.stacks = &stacks{store: store, rootless: rootless, scenery: p.scenery}
	p.governor = newGovernor(home, store, log)
	if p.builder, err = newBuilder(p, log); err != nil {
		return nil, err
	}
	p.spares = p.builder.spares
	p.images = &images{home: home, store: store, rootless: rootless, scenery: p.scenery, stacks: p.stacks, builder: p.builder}
	if err := p.images.emptySpool(); err != nil {
		return nil, forkbox.Wrap("open the store", err)
	}
	return p, p.spares.clear(context.Background())
}

// Trust says what files make programs trust a certificate: their content by
// path. It is called before the first box is started.
func (p *Provider) Trust(files func(ca string) map[string][]byte) { p.scenery.trustBy(files) }

func (p *Provider) Name() string { return Name }

func (sc *scenery) veilDir() string { return filepath.Join(sc.home, "mnt", "veil") }

func (p *Provider) Prepare(ctx context.Context, box forkbox.Box) error {
	return p.store.Create(ctx, box.ID)
}

func (p *Provider) Remove(ctx context.Context, box forkbox.Box) error {
	return p.store.Remove(ctx, box.ID)
}

// Attach finds the init of a box that an earlier daemon started: the process
// that answers on the box's socket.
func (p *Provider) Attach(ctx context.Context, box forkbox.Box) (forkbox.Instance, error) {
	i, err := p.builder.attach(ctx, box)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// Stored lists the boxes that have files, for doctor: one that the ledger does
// not know is work that its owner cannot find.
func (p *Provider) Stored(context.Context) ([]string, error) {
	ids, err := p.store.List()
	return slices.DeleteFunc(ids, func(id string) bool { return strings.HasPrefix(id, sparePrefix) }), err
}

// MountPoints are where the filesystems begin that boxes see: what a landing
// works on.
func (p *Provider) MountPoints() (points []string) {
	list, _, _, err := p.mounts.Mounts()
	if err != nil {
		return nil
	}
	for _, m := range list {
		if !m.File {
			points = append(points, m.Point)
		}
	}
	return points
}
