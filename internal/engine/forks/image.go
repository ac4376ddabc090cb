package forks

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
)

// imager is a provider whose snapshots can leave the machine as images, and
// whose boxes can begin as one.
type imager interface {
	// Export writes an archive. newLayer names what it makes on the way.
	// before is what reality had where the snapshot differs, as far as known.
	Export(ctx context.Context, box forkbox.Box, s forkbox.Snapshot, before []forkbox.BaseSum, newLayer func() string, w io.Writer) error
	// ReadImage unpacks one. newLayer names what it makes.
	ReadImage(ctx context.Context, who forkbox.Owner, r io.Reader, newLayer func() string) (forkbox.Arrival, error)
	// ReadTar unpacks a root directory.
	ReadTar(ctx context.Context, who forkbox.Owner, r io.Reader) (forkbox.Base, error)
	// EmptyRoot is a root directory with nothing in it.
	EmptyRoot(ctx context.Context, who forkbox.Owner) (forkbox.Base, error)
	// CheckDir is a directory as a base, if it can be one.
	CheckDir(dir string, who forkbox.Owner) (forkbox.Base, error)
}

func (m *Manager) images(op string) (imager, error) {
	if p, ok := m.core.Provider.(imager); ok {
		return p, nil
	}
	return nil, forkbox.Errorf(forkbox.Unsupported, op, "provider %s knows no images", m.core.Provider.Name())
}

// Export writes a snapshot, or a box as it is now, as an archive of an image.
func (m *Manager) Export(ctx context.Context, who forkbox.Owner, ref string, w io.Writer) error {
	const op = "export"
	p, err := m.images(op)
	if err != nil {
		return err
	}
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return err
	}
	defer end()
	box, s, release, err := m.toExport(ctx, op, who, ref)
	if err != nil {
		return err
	}
	defer release()
	before, err := m.changes.BaseSums(ctx, box, s)
	if err != nil {
		return forkbox.Wrap(op, err)
	}
	newLayer, releaseNew := m.namer()
	defer releaseNew()
	return forkbox.Wrap(op, p.Export(ctx, box, s, before, newLayer, w))
}

// toExport finds the snapshot and keeps its layers until release is called.
// The box's turn is not held meanwhile: an export may take long.
func (m *Manager) toExport(ctx context.Context, op string, who forkbox.Owner, ref string) (box forkbox.Box, s forkbox.Snapshot, release func(), err error) {
	name, snapshot, at := forkbox.SplitRef(ref)
	box, err = m.core.Change(ctx, op, who, name, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if s, err = m.snapshots.SnapshotFor(ctx, h, box, snapshot, at, "export"); err != nil {
			return err
		}
		release = m.shelf.KeepLayers(append(s.Layers, s.Base.Root)...)
		return nil
	})
	return box, s, release, err
}

// Import makes a box of an archive that Export, or another program, wrote.
func (m *Manager) Import(ctx context.Context, who forkbox.Owner, r io.Reader, spec forkbox.ImportSpec) (in forkbox.Import, err error) {
	return m.ImportWith(ctx, who, r, spec, forkbox.Wish{}, forkbox.NetWish{})
}

// ImportWith is Import with limits and a network.
func (m *Manager) ImportWith(ctx context.Context, who forkbox.Owner, r io.Reader, spec forkbox.ImportSpec, wish forkbox.Wish, net forkbox.NetWish) (in forkbox.Import, err error) {
	const op = "import"
	p, err := m.images(op)
	if err != nil {
		return in, err
	}
	create := CreateSpec{Name: spec.Name, Dir: spec.Dir, Net: string(spec.Net), NetWish: net, Wish: wish}
	if err := create.check(); err != nil {
		return in, err
	}
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return in, err
	}
	defer end()
	pass, err := m.settleTerms(ctx, who, &create)
	if err != nil {
		return in, err
	}
	defer pass.Done()
	unpacking, watched := m.limits.WhileThereIsRoom(ctx, op)
	arrived, release, err := m.unpack(unpacking, p, who, r)
	if err = watched(err); err != nil {
		if release != nil {
			release()
		}
		return in, forkbox.Wrap(op, err)
	}
	defer release()
	in.Differences = arrived.Differences
	in.Box, err = m.fromArrival(ctx, who, create, arrived)
	if err != nil {
		m.shelf.SweepSoon()
	}
	return in, err
}

// unpack reads an image. What it makes is kept until release is called.
func (m *Manager) unpack(ctx context.Context, p imager, who forkbox.Owner, r io.Reader) (a forkbox.Arrival, release func(), err error) {
	newLayer, releaseNew := m.namer()
	defer m.shelf.UseRoots()()
	made := m.knowRoot(ctx)
	if a, err = p.ReadImage(ctx, who, r, newLayer); err != nil {
		releaseNew()
		m.shelf.SweepSoon()
		return a, nil, err
	}
	releaseRoot := m.shelf.KeepLayers(a.Base.Root)
	made(a.Base.Root)
	return a, func() { releaseNew(); releaseRoot() }, nil
}

// knowRoot records the root that is made next, when made is called. One that
// is there already and not the ledger's stays so: boxes that a lost ledger knew
// may lie over it.
func (m *Manager) knowRoot(ctx context.Context) (made func(root string)) {
	p, ok := m.core.Provider.(core.Layered)
	if !ok {
		return func(string) {}
	}
	before, err := p.Roots(ctx)
	return func(root string) {
		if root == "" || err != nil || slices.Contains(before, root) {
			return
		}
		if err := m.core.Ledger.KnowLayers(ctx, root); err != nil {
			m.core.Log.WarnContext(ctx, "cannot record a root", "root", root, "error", err)
		}
	}
}

// namer names new layers, and keeps them until release is called.
func (m *Manager) namer() (newLayer func() string, release func()) {
	var releases []func()
	newLayer = func() string {
		id := core.NewID()
		releases = append(releases, m.shelf.KeepLayers(id))
		if err := m.core.Ledger.KnowLayers(m.core.Ctx, id); err != nil { // then a crash leaves it for doctor to report
			m.core.Log.Warn("cannot record a layer", "layer", id, "error", err)
		}
		return id
	}
	return newLayer, func() {
		for _, r := range releases {
			r()
		}
	}
}

func (m *Manager) fromArrival(ctx context.Context, who forkbox.Owner, spec CreateSpec, a forkbox.Arrival) (forkbox.Box, error) {
	box, err := m.newBox(who, spec)
	if err != nil {
		return box, err
	}
	fence := box.Base.Fence
	box.Base, box.Layers = a.Base, a.Layers
	box.Base.Fence = fence
	if len(a.Layers) > 0 && a.Base.IsReality() {
		// What the changes were made on was another machine, or this one at
		// another time: nothing here is known to be as it was, but where it is
		// what the archive says.
		box.Base.Fence = forkbox.NeverFenced
	}
	if !a.Base.IsReality() {
		box.Env = baseEnv(a.Base)
	}
	box.Dir = core.OrElse(spec.Dir, core.OrElse(a.Base.Dir, core.OrElse(box.Dir, "/")))
	return m.add(ctx, box, origin{what: box.Base.Kind + ":" + box.Base.Name}, m.bases.Scan)
}

// baseEnv is what commands in a root of its own start with.
func baseEnv(b forkbox.Base) []string {
	if len(b.Env) > 0 {
		return b.Env
	}
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "TERM=xterm"}
}

// uploads are bases that were brought and that no box begins as yet, by the
// ticket that its box will show.
type uploads struct {
	mu   sync.Mutex
	kept map[string]upload
}

type upload struct {
	base    forkbox.Base
	uid     int
	release func()
}

// uploadAge is how long one waits for its box.
const uploadAge = 10 * time.Minute

// AddBase unpacks a root directory that boxes can begin as: `oci` is an archive
// of an image, `tar` one of the directory itself. Its Ticket is what Create takes.
func (m *Manager) AddBase(ctx context.Context, who forkbox.Owner, kind, name string, r io.Reader) (base forkbox.Base, err error) {
	const op = "add base"
	p, err := m.images(op)
	if err != nil {
		return base, err
	}
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return base, err
	}
	defer end()
	// What is brought takes disk before any box is made of it.
	pass, err := m.limits.Admit(ctx, unknownSize(who), forkbox.Wish{Wait: new(int64)}, op)
	if err != nil {
		return base, err
	}
	defer pass.Done()
	ctx, watched := m.limits.WhileThereIsRoom(ctx, op)
	defer func() { err = watched(err) }()
	switch kind {
	case "tar":
		defer m.shelf.UseRoots()()
		made := m.knowRoot(ctx)
		base, err = p.ReadTar(ctx, who, r)
		made(base.Root)
	case "oci":
		var a forkbox.Arrival
		var release func()
		if a, release, err = m.unpack(ctx, p, who, r); err == nil {
			defer release()
			base = a.Base
		}
		if err == nil && base.IsReality() {
			err = forkbox.Errorf(forkbox.Invalid, op, "it holds changes to a machine, not a whole one").
				Hint("forkbox import makes a box of it")
			m.shelf.SweepSoon()
		}
	default:
		err = forkbox.Errorf(forkbox.Invalid, op, "there is no kind of base %q", kind).Hint("it is oci or tar")
	}
	if err != nil {
		return base, forkbox.Wrap(op, err)
	}
	base.Name = name
	base.Ticket = m.keepUpload(base, who)
	return base, nil
}

// keepUpload keeps a base for the box that it was brought for, for a while.
func (m *Manager) keepUpload(base forkbox.Base, who forkbox.Owner) (ticket string) {
	ticket = core.NewID()
	held := m.shelf.KeepLayers(base.Root)
	m.uploads.mu.Lock()
	defer m.uploads.mu.Unlock()
	if m.uploads.kept == nil {
		m.uploads.kept = map[string]upload{}
	}
	m.uploads.kept[ticket] = upload{base, who.UID, func() { held(); m.shelf.SweepSoon() }}
	time.AfterFunc(uploadAge, func() {
		if u, ok := m.takeUpload(ticket, who); ok {
			u.release()
		}
	})
	return ticket
}

// takeUpload takes one that who brought.
func (m *Manager) takeUpload(ticket string, who forkbox.Owner) (upload, bool) {
	m.uploads.mu.Lock()
	defer m.uploads.mu.Unlock()
	u, ok := m.uploads.kept[ticket]
	if !ok || u.uid != who.UID {
		return upload{}, false
	}
	delete(m.uploads.kept, ticket)
	return u, true
}

// fromBase makes a box of something that is not reality.
func (m *Manager) fromBase(ctx context.Context, who forkbox.Owner, spec CreateSpec) (forkbox.Box, error) {
	base, release, err := m.base(ctx, who, spec.From)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer release()
	spec.Dir, spec.Env = "", nil // the caller's are of another machine
	return m.fromArrival(ctx, who, spec, forkbox.Arrival{Base: base})
}

// base is what a box begins as, kept until release is called: by then the box
// is in the ledger.
func (m *Manager) base(ctx context.Context, who forkbox.Owner, from string) (base forkbox.Base, release func(), err error) {
	const op = "create box"
	p, err := m.images(op)
	if err != nil {
		return base, nil, err
	}
	kind, name, _ := strings.Cut(from, ":")
	switch kind {
	case "empty":
		defer m.shelf.UseRoots()()
		made := m.knowRoot(ctx)
		base, err = p.EmptyRoot(ctx, who)
		made(base.Root)
		return base, m.shelf.KeepLayers(base.Root), err
	case "dir":
		base, err = p.CheckDir(name, who)
		return base, func() {}, err
	}
	u, ok := m.takeUpload(name, who)
	if !ok {
		return base, nil, forkbox.Errorf(forkbox.NotFound, op, "there is no base %q", name).
			Hint("bring it again: forkbox new --from tar:FILE or oci:LAYOUT")
	}
	u.base.Dir = core.OrElse(u.base.Dir, "/")
	return u.base, u.release, nil
}

// unknownSize wants room for something of which it is not known yet how large it is.
func unknownSize(who forkbox.Owner) limits.Want {
	return limits.Want{Owner: who, New: true, Policy: forkbox.Policy{forkbox.Disk: {Value: 1, How: forkbox.Watched}}}
}
