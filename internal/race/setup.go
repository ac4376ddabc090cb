package race

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
)

// runSetup runs what comes before the fork, once.
func (r *race) runSetup() error {
	if len(r.spec.Setup) == 0 || r.record().Point != "" {
		return nil // there is none; it is done; another race has run it
	}
	for lost := 0; ; lost++ {
		b, err := r.findOrMakeSetupLane()
		if err == nil {
			err = b.prepare()
		}
		err = r.blame(r.trial, err)
		if err == nil || r.closing() {
			return err
		}
		if errors.Is(err, errLost) && lost < mostLost && b.remove() == nil {
			continue
		}
		return r.endSetup(b, err)
	}
}

// endSetup says why there is nothing to begin at. It removes the box of a setup
// that failed, and keeps that of one that was cancelled, to be looked at.
func (r *race) endSetup(b *lane, err error) error {
	if b == nil {
		return err
	}
	b.halt()
	if errors.Is(err, errCancelled) {
		return err
	}
	if gone := b.remove(); gone != nil {
		return fmt.Errorf("%w (and its box %s could not be removed: %w)", err, b.box.Name, gone)
	}
	if gone := r.texts.remove(r.id); gone != nil {
		r.log.Warn("cannot remove what a setup printed", "race", r.id, "error", gone)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.SetupBox = ""
	return err
}

// findOrMakeSetupLane finds the setup's box again, or makes it.
func (r *race) findOrMakeSetupLane() (*lane, error) {
	r.mu.Lock()
	b := r.found[""]
	delete(r.found, "")
	r.mu.Unlock()
	if b == nil {
		spec := r.commonSpec()
		spec.Name = r.name + "-setup"
		box, err := r.create(r.trial, spec)
		if err != nil {
			return nil, err
		}
		b = r.newLane(setupLane, 1, box)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.SetupBox, r.rec.SetupRuns = b.box.ID, nil
	return b, nil
}

// prepare runs the commands of the setup and saves what they left.
func (b *lane) prepare() error {
	for n, c := range b.spec.Setup {
		b.say("setup: " + title(c))
		x, err := b.do(b.trial, b.label("setup", n), c, 0)
		if err != nil {
			return err
		}
		b.mu.Lock()
		b.rec.SetupRuns = append(slices.Clip(b.rec.SetupRuns), ran(c, x))
		b.mu.Unlock()
		if x.Exit.Code != 0 && !c.MayFail {
			return b.setupFailed(c, x)
		}
	}
	s, err := b.findOrMakeSnapshot(b.trial, pointName(b.id), "where the approaches of race "+b.name+" begin")
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.rec.Point = b.box.ID + "@" + s.ID
	b.mu.Unlock()
	b.inBackground(b.halt)
	return b.keepRace(false)
}

// setupFailed says which command failed, how, and what it printed last.
func (b *lane) setupFailed(c forkbox.Command, x forkbox.Exec) error {
	var last lastLines
	_ = b.boxes.Logs(b.uncancelled(), b.who, b.box.ID, x.ID, false, func(rec forkbox.LogRecord) error {
		last.add(rec.Data)
		return nil
	})
	text := ""
	if lines := last.all(); len(lines) > 0 {
		text = ":\n" + strings.Join(lines, "\n")
	}
	return forkbox.Errorf(forkbox.Invalid, "set up the race", "the setup command %s %s%s", title(c), howItEnded(*x.Exit), text)
}

// takeFound takes the lane of an approach that was found when the race was
// resumed, nil if there is none.
func (r *race) takeFound(i int) *lane {
	name := r.spec.Approaches[i].Name
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.found[name]
	delete(r.found, name)
	return b
}

// findOrMakeLane finds an approach's box again, or makes it.
func (r *race) findOrMakeLane(i int) (*lane, error) {
	b := r.takeFound(i)
	if b == nil {
		if err := context.Cause(r.trial); err != nil {
			return nil, err
		}
		r.editQuietly(i, func(e *forkbox.Entry) { e.Phase, e.Started = forkbox.PhaseForking, r.now() })
		box, err := r.create(r.trial, r.boxSpec(i))
		if err != nil {
			return nil, err
		}
		b = r.newLane(i, max(1, r.entry(i).Attempt), box)
	}
	r.editQuietly(i, func(e *forkbox.Entry) {
		started := e.Started
		if started.IsZero() {
			started = r.now()
		}
		*e = forkbox.Entry{
			Name: e.Name, Box: b.box.ID, BoxName: b.box.Name, Phase: forkbox.PhaseForking, Attempt: b.attempt,
			Started: started, CPU: e.CPU, MemoryPeak: e.MemoryPeak,
		}
	})
	return b, nil
}

func (r *race) newLane(i, attempt int, box forkbox.Box) *lane {
	b := &lane{race: r, i: i, attempt: attempt, box: box}
	b.env = []string{"FORKBOX_RACE=" + r.name}
	if i != setupLane {
		a := r.spec.Approaches[i]
		b.env = append(b.env, "FORKBOX_APPROACH="+a.Name, "FORKBOX_SEED="+strconv.FormatInt(r.spec.Seed+int64(i), 10))
		b.env = append(b.env, a.Env...)
	}
	return b
}

// boxSpec is the box that an approach asks for: as all others of the race, but
// for what is its own.
func (r *race) boxSpec(i int) engine.CreateSpec {
	a, spec := r.spec.Approaches[i], r.commonSpec()
	spec.Name, spec.Approach = r.name+"-"+a.Name, a.Name
	if point := r.record().Point; point != "" {
		spec.From, spec.Template, spec.With, spec.Settings = point, "", nil, nil // what it is made of has them
	}
	if a.Net != "" {
		spec.Net = a.Net
	}
	if own := forkbox.Net(a.Net); own == forkbox.NetNone || own == forkbox.NetHost {
		spec.NetWish = forkbox.NetWish{} // the race's rules and ports have no place there
	}
	if len(a.Rules) > 0 { // the first that matches decides: its own come first
		spec.NetWish.Rules = slices.Concat(a.Rules, spec.NetWish.Rules)
	}
	spec.Wish = ownWish(spec.Wish, a)
	return spec
}

// ownWish is the limits of an approach: its own, and those of the race beside
// them.
func ownWish(wish forkbox.Wish, a forkbox.Approach) forkbox.Wish {
	if len(a.Limits) == 0 {
		return wish
	}
	limits := forkbox.Limits{}
	maps.Copy(limits, wish.Limits)
	maps.Copy(limits, a.Limits)
	wish.Limits = limits
	return wish
}

func (r *race) commonSpec() engine.CreateSpec {
	s := r.spec.Start
	s.Wish.Wait = r.patience()
	return engine.CreateSpec{
		From: s.From, Template: s.Template, Dir: s.Dir, Env: s.Env, AllowSecrets: s.AllowSecrets, Places: s.Places,
		Net: s.Net, NetWish: s.NetWish, Wish: s.Wish, Race: r.id, Fence: r.record().Fence, With: s.With, Pause: s.Pause, Settings: s.Services,
	}
}

// mostNames is how many names are tried where the first is another box's.
const mostNames = 99

// create makes a box. Its name may be taken; which race and approach it is for
// is not in the name.
func (r *race) create(ctx context.Context, spec engine.CreateSpec) (box forkbox.Box, err error) {
	name := spec.Name
	for n := 2; n <= mostNames; n++ {
		r.withRoom(func() { box, err = r.boxes.Create(ctx, r.who, spec) })
		if forkbox.CodeOf(err) != forkbox.Exists {
			return box, err
		}
		suffix := "-" + strconv.Itoa(n)
		spec.Name = name[:min(len(name), 63-len(suffix))] + suffix
	}
	return box, err
}
