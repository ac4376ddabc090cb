package engine

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/git"
)

// CreateSpec is what box to make. Every field may be zero.
type CreateSpec struct {
	Name string // generated if empty
	// From is "reality" (or nothing), BOX@SNAPSHOT, "empty", "dir:/a/b", or
	// "base:ID" of one that AddBase made.
	From         string
	Template     string // instead of From
	Dir          string // where its commands start; the owner's home if empty
	Env          []string
	AllowSecrets []string
	Places       []string // beside those that Env names
	// Net is none, policy, host, or the name of a team of boxes that reach each
	// other; the host's default if empty. NetWish is what it may reach.
	Net     string
	NetWish forkbox.NetWish
	// Wish is what limits it is to have. A box that is forked from another has
	// that one's, and its network, but for what is said here.
	Wish forkbox.Wish
	// Race and Approach are what it is made for, and Fence the moment that it
	// counts as forked at: now, if zero. All boxes of a race have one.
	Race, Approach string
	Fence          time.Time
	// Passing is for a box that goes with its first command: what it was forked
	// from need not be kept, for nothing of it is to land.
	Passing bool

	terms   *terms    // what came of the wish
	net     *netTerms // and of that for a network
	refused error     // there is no place for it
}

// Create makes a box: a fork of reality, or of what spec says. It is at rest.
func (e *Engine) Create(ctx context.Context, who forkbox.Owner, spec CreateSpec) (forkbox.Box, error) {
	ctx, end, err := e.begin(ctx, "create box")
	if err != nil {
		return forkbox.Box{}, err
	}
	defer end()
	if err := spec.check(); err != nil {
		return forkbox.Box{}, err
	}
	pass, err := e.settleTerms(ctx, who, &spec)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer pass.done()
	switch {
	case spec.Template != "":
		return e.fromTemplate(ctx, who, spec)
	case spec.From == "" || spec.From == forkbox.Reality:
		box, err := e.newBox(who, spec)
		if err != nil {
			return forkbox.Box{}, err
		}
		return e.addFork(ctx, box, spec)
	case strings.Contains(spec.From, "@"):
		return e.fromSnapshot(ctx, who, spec)
	}
	return e.fromBase(ctx, who, spec)
}

// settleTerms resolves the limits and the network of a new box and waits for
// its place on the host. Nothing is held yet.
func (e *Engine) settleTerms(ctx context.Context, who forkbox.Owner, spec *CreateSpec) (*pass, error) {
	from, asked, err := e.comesFrom(ctx, who, *spec)
	if err != nil {
		return nil, err
	}
	if spec.net, err = e.netTerms(who, spec.Net, spec.NetWish, from); err != nil {
		return nil, err
	}
	wish := changed(asked, spec.Wish)
	t, err := e.terms(who, wish, spec.net.net)
	if err != nil {
		return nil, err
	}
	spec.terms = &t
	return e.newPlace(ctx, who, t, wish)
}

// comesFrom is what a new box inherits of a network and of limits.
func (e *Engine) comesFrom(ctx context.Context, who forkbox.Owner, spec CreateSpec) (*origin, *forkbox.Wish, error) {
	if spec.Template != "" {
		t, err := e.ledger.Template(ctx, who.UID, spec.Template)
		return originOf(t.Net, t.Network), nil, err
	}
	name, _, at := forkbox.SplitRef(spec.From)
	if !at {
		return nil, nil, nil
	}
	parent, err := e.resolve(ctx, who, name)
	return originOf(parent.Net, parent.Network), parent.Asked, err
}

// fromSnapshot forks one box of BOX@SNAPSHOT.
func (e *Engine) fromSnapshot(ctx context.Context, who forkbox.Owner, spec CreateSpec) (forkbox.Box, error) {
	name, snapshot, _ := forkbox.SplitRef(spec.From)
	parent, _, unlock, err := e.take(ctx, who, name)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer unlock()
	s, err := e.snapshotFor(ctx, nil, &parent, snapshot, true, "")
	if err != nil {
		return forkbox.Box{}, err
	}
	return e.childBox(ctx, who, parent, s, spec)
}

// addFork adds a fork of reality. Its fence is set as late as can be, when all
// but the last line of its record is written: it has seen nothing of reality
// yet, and what reality changes from then on, until it was looked at, is lost
// for merges.
func (e *Engine) addFork(ctx context.Context, box forkbox.Box, spec CreateSpec) (forkbox.Box, error) {
	fence := func(b *forkbox.Box) {
		if spec.Fence.IsZero() {
			b.Base.Fence = e.fence()
		}
		if !spec.Passing {
			e.look(*b)
		}
	}
	return e.addAt(ctx, box, fence, func(box forkbox.Box) {
		if !spec.Passing {
			e.scan(box)
		}
	})
}

// add makes a new box, in the ledger first. then is told of it when it is
// there.
func (e *Engine) add(ctx context.Context, box forkbox.Box, then func(forkbox.Box)) (forkbox.Box, error) {
	return e.addAt(ctx, box, func(*forkbox.Box) {}, then)
}

// addAt is add for a box that is forked when fence is called: its storage is
// there, and it is not ready.
func (e *Engine) addAt(ctx context.Context, box forkbox.Box, fence func(*forkbox.Box), then func(forkbox.Box)) (forkbox.Box, error) {
	// From the moment it is in the ledger others can see it; they wait.
	_, unlock, err := e.lock(ctx, box.ID)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer unlock()
	if box.Base.IsReality() {
		box.Dir = realDir(box.Dir, box.Owner)
	}
	if box, err = e.addNamed(ctx, box); err != nil {
		return forkbox.Box{}, err
	}
	if err := e.prepare(ctx, &box, fence); err != nil {
		e.undoCreate(context.WithoutCancel(ctx), box)
		return forkbox.Box{}, forkbox.Wrap("create box", err)
	}
	then(box)
	return box, nil
}

// realDir is a directory of the machine by its real name. Changes, receipts and
// rules have no other: a workspace that is named by way of a symlink would have
// nothing in it. Where the links lead is looked up with the owner's rights, as
// the answer is for the owner to read. What cannot be found stays as it is: the
// first command that is to start there says so.
func realDir(dir string, owner forkbox.Owner) string {
	if real, err := filepath.EvalSymlinks(dir); err != nil || real == dir {
		return dir // the most common case, and it costs no thread
	}
	real := dir
	err := git.Repo{Owner: owner}.As(func() (err error) {
		real, err = filepath.EvalSymlinks(dir)
		return err
	})
	if err != nil {
		return dir
	}
	return real
}

func (e *Engine) newBox(who forkbox.Owner, spec CreateSpec) (forkbox.Box, error) {
	places := e.places(slices.Concat(spec.Env, spec.Places), who.Home, spec.Dir, spec.AllowSecrets)
	if len(places) > mostPlaces {
		return forkbox.Box{}, forkbox.Errorf(forkbox.Invalid, "create box", "its environment names too many places for credentials").
			Hint("at most %d can be hidden", mostPlaces)
	}
	if err := e.allow(spec.AllowSecrets, who, places); err != nil {
		return forkbox.Box{}, err
	}
	now := e.instant()
	env, _ := e.secrets(spec.Env, spec.AllowSecrets)
	box := forkbox.Box{
		ID: newID(), Name: spec.Name, State: forkbox.Creating, Provider: e.provider.Name(),
		Base: forkbox.Base{Kind: forkbox.Reality, Fence: e.fenceOf(spec)},
		Race: spec.Race, Approach: spec.Approach,
		Owner: who, Net: spec.net.net, Network: cloneNetwork(spec.net.network), Note: spec.net.note,
		Dir:     orElse(spec.Dir, orElse(who.Home, "/")),
		Created: now.time, Env: env, AllowSecrets: spec.AllowSecrets, Places: places, Store: e.storage(),
	}
	spec.terms.put(&box, now)
	return box, nil
}

// fenceOf is the moment that a new box counts as forked at.
func (e *Engine) fenceOf(spec CreateSpec) time.Time {
	if spec.Fence.IsZero() {
		return e.fence()
	}
	return spec.Fence
}

// storage is how the provider keeps layers.
func (e *Engine) storage() string {
	p, ok := e.provider.(layered)
	if !ok {
		return ""
	}
	name, _ := p.Storage()
	return name
}

func (s CreateSpec) check() error {
	const op = "create box"
	if s.Name != "" {
		if err := checkName(s.Name); err != nil {
			return err
		}
	}
	if s.From != "" && s.Template != "" {
		return forkbox.Errorf(forkbox.Invalid, op, "it cannot begin as both %s and the template %s", s.From, s.Template)
	}
	if !s.knownFrom() {
		return forkbox.Errorf(forkbox.Invalid, op, "it cannot be forked from %q", s.From).
			Hint("it is reality, BOX@SNAPSHOT, oci:LAYOUT, tar:FILE, dir:DIR or empty").
			Hint("to fork a box as it is now: forkbox fork %s", s.From)
	}
	if s.Dir != "" && !path.IsAbs(s.Dir) {
		return forkbox.Errorf(forkbox.Invalid, op, "the directory %q is not absolute", s.Dir)
	}
	return checkNet(s.Net, s.NetWish)
}

func (s CreateSpec) knownFrom() bool {
	kind, rest, has := strings.Cut(s.From, ":")
	switch {
	case s.From == "", s.From == forkbox.Reality, s.From == "empty":
		return true
	case has && (kind == "dir" || kind == "base"):
		return rest != ""
	}
	box, _, at := forkbox.SplitRef(s.From)
	return at && box != ""
}

// addNamed puts the box into the ledger, under a name that is free when the
// user gave none.
func (e *Engine) addNamed(ctx context.Context, box forkbox.Box) (forkbox.Box, error) {
	if box.Name != "" {
		return box, e.addBox(ctx, box)
	}
	var err error
	for attempt := range 10 {
		box.Name = friendlyName(attempt)
		if err = e.addBox(ctx, box); forkbox.CodeOf(err) != forkbox.Exists {
			return box, err
		}
	}
	return box, err
}

func (e *Engine) addBox(ctx context.Context, box forkbox.Box) error {
	err := e.ledger.AddBox(ctx, box)
	if err == nil {
		e.queue.made(box)
	}
	return err
}

func (e *Engine) prepare(ctx context.Context, box *forkbox.Box, fence func(*forkbox.Box)) error {
	if err := e.provider.Prepare(ctx, *box); err != nil {
		return err
	}
	ready := *box
	ready.State = forkbox.Stopped
	if err := e.prepareNet(&ready); err != nil {
		return err
	}
	fence(&ready)
	if err := e.ledger.UpdateBox(ctx, ready); err != nil {
		return err
	}
	*box = ready
	return nil
}

// undoCreate leaves the box in the ledger when its storage cannot be removed:
// a restart, or rm, tries again.
func (e *Engine) undoCreate(ctx context.Context, box forkbox.Box) {
	if err := e.discard(ctx, box); err != nil {
		e.log.Error("cannot remove a box whose creation failed", "box", box.ID, "error", err)
	}
}

// discard removes everything of a box that does not run, the ledger's
// knowledge of it last.
func (e *Engine) discard(ctx context.Context, box forkbox.Box) error {
	if err := e.provider.Remove(ctx, box); err != nil {
		return err
	}
	if err := e.removeNet(box); err != nil {
		return err
	}
	if err := e.ledger.DeleteBox(ctx, box.ID); err != nil {
		return err
	}
	e.hooks.forgetSync(box)
	e.queue.exists(box, -1)
	e.dropSeries(box.ID)
	e.endFollowers(box.ID)
	return nil
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}
