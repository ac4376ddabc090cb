package race

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
)

// mostRunning is how many races of one owner run at a time. Each has boxes, and
// more would only wait for each other.
const mostRunning = 32

// Start begins a race and returns when it is recorded and runs. It goes on
// without ctx.
func (r *Races) Start(ctx context.Context, who forkbox.Owner, spec forkbox.RaceSpec) (forkbox.Race, error) {
	end, err := r.begin("start race")
	if err != nil {
		return forkbox.Race{}, err
	}
	defer end()
	if err := r.refuseBad(ctx, who, spec); err != nil {
		return forkbox.Race{}, err
	}
	leave, err := r.reservePlace(who.UID)
	if err != nil {
		return forkbox.Race{}, err
	}
	defer leave()
	rec := r.newRecord(who, spec)
	if err := r.startingPoint(ctx, who, &rec); err != nil {
		return forkbox.Race{}, err
	}
	if rec, err = r.addNamed(ctx, rec); err != nil {
		return forkbox.Race{}, err
	}
	run := r.newRace(rec)
	if err := r.launch(run); err != nil {
		return forkbox.Race{}, err
	}
	return rec, nil
}

// launch has a race run.
func (r *Races) launch(run *race) error {
	end, err := r.begin("start race")
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.live[run.id] = run
	r.mu.Unlock()
	go func() {
		defer end()
		run.run()
	}()
	return nil
}

// refuseBad refuses what cannot be run, before anything is made.
func (r *Races) refuseBad(ctx context.Context, who forkbox.Owner, spec forkbox.RaceSpec) error {
	const op = "start race"
	if err := spec.Check(); err != nil {
		return err
	}
	if _, err := r.boxes.Policy(ctx, who, spec.Start.Wish); err != nil {
		return err
	}
	here := r.boxes.Provider()
	for _, a := range spec.Approaches {
		if a.Provider != "" && a.Provider != here {
			return forkbox.Errorf(forkbox.Unsupported, op, "approach %s asks for the provider %q, and boxes here are made by %q", a.Name, a.Provider, here).
				Hint("leave provider out, or say provider: %s", here)
		}
		if len(a.Limits) > 0 {
			if _, err := r.boxes.Policy(ctx, who, ownWish(spec.Start.Wish, a)); err != nil {
				return err
			}
		}
	}
	return nil
}

// newRecord is the record of a race that begins now. Nothing in it is a secret
// that its owner did not name.
func (r *Races) newRecord(who forkbox.Owner, spec forkbox.RaceSpec) forkbox.Race {
	named := slices.Concat(spec.Start.Env, spec.Start.Places)
	spec.Start.Places = r.boxes.Places(who, spec.Start.Dir, named, spec.Start.AllowSecrets)
	spec.Start.Env = r.boxes.Passable(spec.Start.Env, spec.Start.AllowSecrets)
	spec.Start.Wish.Ticket = "" // it is one box's place in line, and there are many
	if spec.Seed == 0 {
		spec.Seed = newSeed()
	}
	rec := forkbox.Race{
		ID: newID(), Name: spec.Name, Owner: who, Spec: spec, State: forkbox.RaceRunning,
		Created: r.now(), Fence: r.boxes.Fence(), Notes: differences(spec),
	}
	for _, a := range spec.Approaches {
		rec.Entries = append(rec.Entries, forkbox.Entry{Name: a.Name, Phase: forkbox.PhaseWaiting})
	}
	return rec
}

// differences says what makes a race less fair than others.
func differences(spec forkbox.RaceSpec) (notes []string) {
	for _, a := range spec.Approaches {
		if len(a.Limits) > 0 {
			notes = append(notes, a.Name+" has limits of its own: it may not be a fair race")
		}
		if a.Net != "" && a.Net != spec.Start.Net || len(a.Rules) > 0 {
			notes = append(notes, a.Name+" has a network of its own: it may not be a fair race")
		}
	}
	return notes
}

// startingPoint finds what the boxes begin as, where that is there already: it
// is the same for all of them, whatever becomes of its name meanwhile.
func (r *Races) startingPoint(ctx context.Context, who forkbox.Owner, rec *forkbox.Race) error {
	if rec.Spec.Rerun != "" {
		if done, err := r.repeatSetup(ctx, who, rec); done || err != nil {
			return err
		}
	}
	if t := rec.Spec.Start.Template; t != "" {
		_, err := r.ledger.Template(ctx, who.UID, t)
		return err
	}
	name, snapshot, at := forkbox.SplitRef(rec.Spec.Start.From)
	if !at {
		return nil
	}
	box, err := r.boxes.Box(ctx, who, name)
	if err != nil {
		return err
	}
	s, err := r.ledger.Snapshot(ctx, box.ID, snapshot)
	if forkbox.CodeOf(err) == forkbox.NotFound {
		return forkbox.Errorf(forkbox.NotFound, "start race", "%s has no snapshot %q", box.Name, snapshot).
			Hint("forkbox snapshots %s lists them", box.Name)
	}
	if err != nil {
		return err
	}
	point := box.ID + "@" + s.ID
	if len(rec.Spec.Setup) > 0 {
		rec.Spec.Start.From = point // of the setup; the approaches begin after it
	} else {
		rec.Point = point
	}
	return nil
}

// repeatSetup has a race begin where another did whose setup ran: it is not run
// again.
func (r *Races) repeatSetup(ctx context.Context, who forkbox.Owner, rec *forkbox.Race) (done bool, err error) {
	before, err := r.find(ctx, who, rec.Spec.Rerun)
	if err != nil {
		return false, err
	}
	rec.Spec.Rerun = before.ID
	if before.Point == "" {
		return false, nil
	}
	box, snapshot, _ := forkbox.SplitRef(before.Point)
	if _, err := r.ledger.Snapshot(ctx, box, snapshot); forkbox.CodeOf(err) == forkbox.NotFound {
		return false, forkbox.Errorf(forkbox.NotFound, "start race", "what %s began at is gone", before.Name).
			Hint("start a new race instead: forkbox race -f race.yaml")
	} else if err != nil {
		return false, err
	}
	rec.Point = before.Point
	return true, nil
}

// addNamed records a race, under a name that is free when the user gave none.
func (r *Races) addNamed(ctx context.Context, rec forkbox.Race) (forkbox.Race, error) {
	if rec.Name != "" {
		return rec, r.ledger.AddRace(ctx, rec, r.started(rec))
	}
	var err error
	for attempt := range 10 {
		rec.Name = engine.FriendlyName(attempt)
		if err = r.ledger.AddRace(ctx, rec, r.started(rec)); forkbox.CodeOf(err) != forkbox.Exists {
			break
		}
	}
	return rec, err
}

// started is the event of a race that begins.
func (r *Races) started(rec forkbox.Race) forkbox.Event {
	n := len(rec.Entries)
	return r.about(rec, forkbox.EventRaceStarted, fmt.Sprintf("%d approaches", n), forkbox.EventData{Count: n})
}

// reservePlace refuses a race of an owner of whom too many run. The place is
// kept until leave is called, when the race itself is counted: of many that are
// started at once none slips through.
func (r *Races) reservePlace(uid int) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.starting[uid]
	for _, other := range r.live {
		if other.who.UID == uid {
			n++
		}
	}
	if n >= mostRunning {
		return nil, forkbox.Errorf(forkbox.Busy, "start race", "%d races of yours run already", n).
			Hint("wait for one of them, or cancel one: forkbox race ls")
	}
	r.starting[uid]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.starting[uid]--; r.starting[uid] == 0 {
			delete(r.starting, uid)
		}
	}, nil
}

// newID is random, so that an id is never used twice.
func newID() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// newSeed is above zero, and short enough for people to type.
func newSeed() int64 {
	var b [4]byte
	rand.Read(b[:])
	return int64(binary.BigEndian.Uint32(b[:])>>1) + 1
}
