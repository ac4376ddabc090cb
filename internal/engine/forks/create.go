package forks

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/boxes"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
	"github.com/forkbox/forkbox/internal/engine/network"
	"github.com/forkbox/forkbox/internal/git"
	"github.com/forkbox/forkbox/internal/trace"
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
	// With are the services that it is to have copies of, by name or port, and
	// Pause for how long each may stand still for that. Settings say more of some of
	// them. Services are those copies.
	With     []string
	Pause    *time.Duration
	Settings map[string]forkbox.ServiceSettings
	Services []forkbox.BoxService
	// Settles is the still that the box is made for, see [forkbox.Bookkeeping].
	Settles string
	// Passing is for a box that goes with its first command: what it was forked
	// from need not be kept, for nothing of it is to land.
	Passing bool

	terms   *limits.Terms  // what came of the wish
	net     *network.Terms // and of that for a network
	refused error          // there is no place for it
}

// Create makes a box: a fork of reality, or of what spec says. It is at rest.
func (m *Manager) Create(ctx context.Context, who forkbox.Owner, spec CreateSpec) (forkbox.Box, error) {
	ctx, end, err := m.core.Begin(ctx, "create box")
	if err != nil {
		return forkbox.Box{}, err
	}
	defer end()
	if err := spec.check(); err != nil {
		return forkbox.Box{}, err
	}
	pass, err := m.settleTerms(ctx, who, &spec)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer pass.Done()
	switch {
	case spec.Template != "":
		return m.fromTemplate(ctx, who, spec)
	case spec.From == "" || spec.From == forkbox.Reality:
		box, err := m.newBox(who, spec)
		if err != nil {
			return forkbox.Box{}, err
		}
		return m.addFork(ctx, box, spec)
	case strings.Contains(spec.From, "@"):
		return m.fromSnapshot(ctx, who, spec)
	}
	return m.fromBase(ctx, who, spec)
}

// settleTerms resolves the limits and the network of a new box and waits for
// its place on the host. Nothing is held yet.
func (m *Manager) settleTerms(ctx context.Context, who forkbox.Owner, spec *CreateSpec) (*limits.Pass, error) {
	from, asked, err := m.comesFrom(ctx, who, *spec)
	if err != nil {
		return nil, err
	}
	if spec.net, err = m.network.NetTerms(who, spec.Net, spec.NetWish, from); err != nil {
		return nil, err
	}
	wish := limits.WishOver(asked, spec.Wish)
	t, err := m.limits.TermsFor(who, wish, spec.net.Net)
	if err != nil {
		return nil, err
	}
	spec.terms = &t
	return m.limits.NewPlace(ctx, who, t, wish)
}

// comesFrom is what a new box inherits of a network and of limits.
func (m *Manager) comesFrom(ctx context.Context, who forkbox.Owner, spec CreateSpec) (*network.Origin, *forkbox.Wish, error) {
	if spec.Template != "" {
		t, err := m.core.Ledger.Template(ctx, who.UID, spec.Template)
		return network.OriginOf(t.Net, t.Network), nil, err
	}
	name, _, at := forkbox.SplitRef(spec.From)
	if !at {
		return nil, nil, nil
	}
	parent, err := m.core.Resolve(ctx, who, name)
	return network.OriginOf(parent.Net, parent.Network), parent.Asked, err
}

// fromSnapshot forks one box of BOX@SNAPSHOT.
func (m *Manager) fromSnapshot(ctx context.Context, who forkbox.Owner, spec CreateSpec) (forkbox.Box, error) {
	name, snapshot, _ := forkbox.SplitRef(spec.From)
	parent, _, unlock, err := m.core.Take(ctx, who, name)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer unlock()
	s, err := m.snapshots.SnapshotFor(ctx, nil, &parent, snapshot, true, "")
	if err != nil {
		return forkbox.Box{}, err
	}
	return m.childBox(ctx, who, parent, s, spec)
}

// addFork adds a fork of reality. Its fence is set as late as can be, when all
// but the last line of its record is written: it has seen nothing of reality
// yet, and what reality changes from then on, until it was looked at, is lost
// for merges.
func (m *Manager) addFork(ctx context.Context, box forkbox.Box, spec CreateSpec) (forkbox.Box, error) {
	fence := func(b *forkbox.Box) {
		if spec.Fence.IsZero() {
			b.Base.Fence = m.core.FenceNow()
		}
		if !spec.Passing {
			m.bases.Look(*b)
		}
	}
	return m.addAt(ctx, box, origin{what: forkbox.Reality}, fence, func(box forkbox.Box) {
		if !spec.Passing {
			m.bases.Scan(box)
		}
	})
}

// add makes a new box, in the ledger first. then is told of it when it is
// there.
func (m *Manager) add(ctx context.Context, box forkbox.Box, from origin, then func(forkbox.Box)) (forkbox.Box, error) {
	return m.addAt(ctx, box, from, func(*forkbox.Box) {}, then)
}

// addAt is add for a box that is forked when fence is called: its storage is
// there, and it is not ready.
func (m *Manager) addAt(ctx context.Context, box forkbox.Box, from origin, fence func(*forkbox.Box), then func(forkbox.Box)) (forkbox.Box, error) {
	// From the moment it is in the ledger others can see it; they wait.
	_, unlock, err := m.core.Lock(ctx, box.ID)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer unlock()
	if box.Base.IsReality() {
		box.Dir = realDir(box.Dir, box.Owner)
	}
	if box, err = m.addNamed(ctx, box); err != nil {
		return forkbox.Box{}, err
	}
	if err := m.prepare(ctx, &box, from, fence); err != nil {
		m.undoCreate(context.WithoutCancel(ctx), box)
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

func (m *Manager) newBox(who forkbox.Owner, spec CreateSpec) (forkbox.Box, error) {
	places := m.core.Places(slices.Concat(spec.Env, spec.Places), who.Home, spec.Dir, spec.AllowSecrets)
	if len(places) > boxes.MostPlaces {
		return forkbox.Box{}, forkbox.Errorf(forkbox.Invalid, "create box", "its environment names too many places for credentials").
			Hint("at most %d can be hidden", boxes.MostPlaces)
	}
	if err := m.core.CheckAllow(spec.AllowSecrets, who, places); err != nil {
		return forkbox.Box{}, err
	}
	now := m.core.Instant()
	env, _ := m.core.Secrets(spec.Env, spec.AllowSecrets)
	box := forkbox.Box{
		ID: core.NewID(), Name: spec.Name, State: forkbox.Creating, Provider: m.core.Provider.Name(),
		Base: forkbox.Base{Kind: forkbox.Reality, Fence: m.fenceOf(spec)},
		Race: spec.Race, Approach: spec.Approach,
		Owner: who, Net: spec.net.Net, Network: network.Clone(spec.net.Network), Note: spec.net.Note,
		Dir:      core.OrElse(spec.Dir, core.OrElse(who.Home, "/")),
		Services: spec.Services, Bookkeeping: forkbox.Bookkeeping{Settles: spec.Settles},
		Created: now.Time, Env: env, AllowSecrets: spec.AllowSecrets, Places: places, Store: m.storage(),
	}
	spec.terms.Put(&box, now)
	return box, nil
}

// fenceOf is the moment that a new box counts as forked at.
func (m *Manager) fenceOf(spec CreateSpec) time.Time {
	if spec.Fence.IsZero() {
		return m.core.FenceNow()
	}
	return spec.Fence
}

// storage is how the provider keeps layers.
func (m *Manager) storage() string {
	p, ok := m.core.Provider.(core.Layered)
	if !ok {
		return ""
	}
	name, _ := p.Storage()
	return name
}

func (s CreateSpec) check() error {
	const op = "create box"
	if s.Name != "" {
		if err := core.CheckName(s.Name); err != nil {
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
	if len(s.Services) > 0 && (s.Template != "" || s.From != "" && s.From != forkbox.Reality) {
		return forkbox.Errorf(forkbox.Invalid, op, "only a fork of this machine can have copies of its services (--with)").
			Hint("what is forked from a box has the services of that box")
	}
	if s.Dir != "" && !path.IsAbs(s.Dir) {
		return forkbox.Errorf(forkbox.Invalid, op, "the directory %q is not absolute", s.Dir)
	}
	return network.CheckWish(s.Net, s.NetWish)
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
func (m *Manager) addNamed(ctx context.Context, box forkbox.Box) (forkbox.Box, error) {
	if box.Name != "" {
		return box, m.AddBox(ctx, box)
	}
	var err error
	for attempt := range 10 {
		box.Name = core.FriendlyName(attempt)
		if err = m.AddBox(ctx, box); forkbox.CodeOf(err) != forkbox.Exists {
			return box, err
		}
	}
	return box, err
}

// AddBox puts a box into the ledger, and counts it.
func (m *Manager) AddBox(ctx context.Context, box forkbox.Box) error {
	err := m.core.Ledger.AddBox(ctx, box)
	if err == nil {
		m.limits.Line.Made(box)
	}
	return err
}

func (m *Manager) prepare(ctx context.Context, box *forkbox.Box, from origin, fence func(*forkbox.Box)) error {
	step := trace.Step(ctx, "prepare files")
	err := m.core.Provider.Prepare(ctx, *box)
	step.End(err)
	if err != nil {
		return err
	}
	ready := *box
	ready.State = forkbox.Stopped
	if err := m.network.PrepareNet(&ready); err != nil {
		return err
	}
	fence(&ready)
	if err := m.core.Ledger.UpdateBox(ctx, ready, m.created(ready, from)...); err != nil {
		return err
	}
	*box = ready
	return nil
}

// undoCreate leaves the box in the ledger when its storage cannot be removed:
// a restart, or rm, tries again.
func (m *Manager) undoCreate(ctx context.Context, box forkbox.Box) {
	if err := m.boxes.Erase(ctx, box); err != nil {
		m.core.Log.ErrorContext(ctx, "cannot remove a box whose creation failed", "box", box.ID, "error", err)
	}
}

// Places are the variables of an environment that name where credentials of who
// lie. dir is what relative paths are relative to.
func (m *Manager) Places(who forkbox.Owner, dir string, env, allow []string) []string {
	return m.core.Places(env, who.Home, dir, allow)
}
