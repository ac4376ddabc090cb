package engine

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
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

func (e *Engine) images(op string) (imager, error) {
	if p, ok := e.provider.(imager); ok {
		return p, nil
	}
	return nil, forkbox.Errorf(forkbox.Unsupported, op, "provider %s knows no images", e.provider.Name())
}

// Export writes a snapshot, or a box as it is now, as an archive of an image.
func (e *Engine) Export(ctx context.Context, who forkbox.Owner, ref string, w io.Writer) error {
	const op = "export"
	p, err := e.images(op)
	if err != nil {
		return err
	}
	ctx, end, err := e.begin(ctx, op)
	if err != nil {
		return err
	}
	defer end()
	box, s, release, err := e.toExport(ctx, op, who, ref)
	if err != nil {
		return err
	}
	defer release()
	before, err := e.baseSums(ctx, box, s)
	if err != nil {
		return forkbox.Wrap(op, err)
	}
	newLayer, releaseNew := e.namer()
	defer releaseNew()
	return forkbox.Wrap(op, p.Export(ctx, box, s, before, newLayer, w))
}

// toExport finds the snapshot and keeps its layers until release is called.
// The box's turn is not held meanwhile: an export may take long.
func (e *Engine) toExport(ctx context.Context, op string, who forkbox.Owner, ref string) (box forkbox.Box, s forkbox.Snapshot, release func(), err error) {
	name, snapshot, at := forkbox.SplitRef(ref)
	box, err = e.change(ctx, op, who, name, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		if s, err = e.snapshotFor(ctx, h, box, snapshot, at, "export"); err != nil {
			return err
		}
		release = e.creating(append(s.Layers, s.Base.Root)...)
		return nil
	})
	return box, s, release, err
}

// Import makes a box of an archive that Export, or another program, wrote.
func (e *Engine) Import(ctx context.Context, who forkbox.Owner, r io.Reader, spec forkbox.ImportSpec) (in forkbox.Import, err error) {
	return e.ImportWith(ctx, who, r, spec, forkbox.Wish{}, forkbox.NetWish{})
}

// ImportWith is Import with limits and a network.
func (e *Engine) ImportWith(ctx context.Context, who forkbox.Owner, r io.Reader, spec forkbox.ImportSpec, wish forkbox.Wish, net forkbox.NetWish) (in forkbox.Import, err error) {
	const op = "import"
	p, err := e.images(op)
	if err != nil {
		return in, err
	}
	create := CreateSpec{Name: spec.Name, Dir: spec.Dir, Net: string(spec.Net), NetWish: net, Wish: wish}
	if err := create.check(); err != nil {
		return in, err
	}
	ctx, end, err := e.begin(ctx, op)
	if err != nil {
		return in, err
	}
	defer end()
	pass, err := e.settleTerms(ctx, who, &create)
	if err != nil {
		return in, err
	}
	defer pass.done()
	unpacking, watched := e.whileThereIsRoom(ctx, op)
	arrived, release, err := e.unpack(unpacking, p, who, r)
	if err = watched(err); err != nil {
		if release != nil {
			release()
		}
		return in, forkbox.Wrap(op, err)
	}
	defer release()
	in.Differences = arrived.Differences
	in.Box, err = e.fromArrival(ctx, who, create, arrived)
	if err != nil {
		e.sweepSoon()
	}
	return in, err
}

// unpack reads an image. What it makes is kept until release is called.
func (e *Engine) unpack(ctx context.Context, p imager, who forkbox.Owner, r io.Reader) (a forkbox.Arrival, release func(), err error) {
	newLayer, releaseNew := e.namer()
	e.shelf.roots.RLock()
	defer e.shelf.roots.RUnlock()
	made := e.knowRoot(ctx)
	if a, err = p.ReadImage(ctx, who, r, newLayer); err != nil {
		releaseNew()
		e.sweepSoon()
		return a, nil, err
	}
	releaseRoot := e.creating(a.Base.Root)
	made(a.Base.Root)
	return a, func() { releaseNew(); releaseRoot() }, nil
}

// knowRoot records the root that is made next, when made is called. One that
// is there already and not the ledger's stays so: boxes that a lost ledger knew
// may lie over it.
func (e *Engine) knowRoot(ctx context.Context) (made func(root string)) {
	p, ok := e.provider.(layered)
	if !ok {
		return func(string) {}
	}
	before, err := p.Roots(ctx)
	return func(root string) {
		if root == "" || err != nil || slices.Contains(before, root) {
			return
		}
		if err := e.ledger.KnowLayers(ctx, root); err != nil {
			e.log.Warn("cannot record a root", "root", root, "error", err)
		}
	}
}

// namer names new layers, and keeps them until release is called.
func (e *Engine) namer() (newLayer func() string, release func()) {
	var releases []func()
	newLayer = func() string {
		id := newID()
		releases = append(releases, e.creating(id))
		if err := e.ledger.KnowLayers(e.ctx, id); err != nil { // then a crash leaves it for doctor to report
			e.log.Warn("cannot record a layer", "layer", id, "error", err)
		}
		return id
	}
	return newLayer, func() {
		for _, r := range releases {
			r()
		}
	}
}

func (e *Engine) fromArrival(ctx context.Context, who forkbox.Owner, spec CreateSpec, a forkbox.Arrival) (forkbox.Box, error) {
	box, err := e.newBox(who, spec)
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
	box.Dir = orElse(spec.Dir, orElse(a.Base.Dir, orElse(box.Dir, "/")))
	return e.add(ctx, box, e.scan)
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
func (e *Engine) AddBase(ctx context.Context, who forkbox.Owner, kind, name string, r io.Reader) (base forkbox.Base, err error) {
	const op = "add base"
	p, err := e.images(op)
	if err != nil {
		return base, err
	}
	ctx, end, err := e.begin(ctx, op)
	if err != nil {
		return base, err
	}
	defer end()
	// What is brought takes disk before any box is made of it.
	pass, err := e.admit(ctx, unknownSize(who), forkbox.Wish{Wait: new(int64)}, op)
	if err != nil {
		return base, err
	}
	defer pass.done()
	ctx, watched := e.whileThereIsRoom(ctx, op)
	defer func() { err = watched(err) }()
	switch kind {
	case "tar":
		e.shelf.roots.RLock()
		defer e.shelf.roots.RUnlock()
		made := e.knowRoot(ctx)
		base, err = p.ReadTar(ctx, who, r)
		made(base.Root)
	case "oci":
		var a forkbox.Arrival
		var release func()
		if a, release, err = e.unpack(ctx, p, who, r); err == nil {
			defer release()
			base = a.Base
		}
		if err == nil && base.IsReality() {
			err = forkbox.Errorf(forkbox.Invalid, op, "it holds changes to a machine, not a whole one").
				Hint("forkbox import makes a box of it")
			e.sweepSoon()
		}
	default:
		err = forkbox.Errorf(forkbox.Invalid, op, "there is no kind of base %q", kind).Hint("it is oci or tar")
	}
	if err != nil {
		return base, forkbox.Wrap(op, err)
	}
	base.Name = name
	base.Ticket = e.keepUpload(base, who)
	return base, nil
}

// keepUpload keeps a base for the box that it was brought for, for a while.
func (e *Engine) keepUpload(base forkbox.Base, who forkbox.Owner) (ticket string) {
	ticket = newID()
	held := e.creating(base.Root)
	e.uploads.mu.Lock()
	defer e.uploads.mu.Unlock()
	if e.uploads.kept == nil {
		e.uploads.kept = map[string]upload{}
	}
	e.uploads.kept[ticket] = upload{base, who.UID, func() { held(); e.sweepSoon() }}
	time.AfterFunc(uploadAge, func() {
		if u, ok := e.takeUpload(ticket, who); ok {
			u.release()
		}
	})
	return ticket
}

// takeUpload takes one that who brought.
func (e *Engine) takeUpload(ticket string, who forkbox.Owner) (upload, bool) {
	e.uploads.mu.Lock()
	defer e.uploads.mu.Unlock()
	u, ok := e.uploads.kept[ticket]
	if !ok || u.uid != who.UID {
		return upload{}, false
	}
	delete(e.uploads.kept, ticket)
	return u, true
}

// fromBase makes a box of something that is not reality.
func (e *Engine) fromBase(ctx context.Context, who forkbox.Owner, spec CreateSpec) (forkbox.Box, error) {
	base, release, err := e.base(ctx, who, spec.From)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer release()
	spec.Dir, spec.Env = "", nil // the caller's are of another machine
	return e.fromArrival(ctx, who, spec, forkbox.Arrival{Base: base})
}

// base is what a box begins as, kept until release is called: by then the box
// is in the ledger.
func (e *Engine) base(ctx context.Context, who forkbox.Owner, from string) (base forkbox.Base, release func(), err error) {
	const op = "create box"
	p, err := e.images(op)
	if err != nil {
		return base, nil, err
	}
	kind, name, _ := strings.Cut(from, ":")
	switch kind {
	case "empty":
		e.shelf.roots.RLock()
		defer e.shelf.roots.RUnlock()
		made := e.knowRoot(ctx)
		base, err = p.EmptyRoot(ctx, who)
		made(base.Root)
		return base, e.creating(base.Root), err
	case "dir":
		base, err = p.CheckDir(name, who)
		return base, func() {}, err
	}
	u, ok := e.takeUpload(name, who)
	if !ok {
		return base, nil, forkbox.Errorf(forkbox.NotFound, op, "there is no base %q", name).
			Hint("bring it again: forkbox new --from tar:FILE or oci:LAYOUT")
	}
	u.base.Dir = orElse(u.base.Dir, "/")
	return u.base, u.release, nil
}

// unknownSize wants room for something of which nobody knows yet how large it is.
func unknownSize(who forkbox.Owner) Want {
	return Want{Owner: who, New: true, Policy: forkbox.Policy{forkbox.Disk: {Value: 1, How: forkbox.Watched}}}
}
