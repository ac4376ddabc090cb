package race

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
)

// take is the box of an approach that was there when the race was resumed, nil
// if there is none.
func (r *race) take(i int) *bench {
	name := r.spec.Approaches[i].Name
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.found[name]
	delete(r.found, name)
	return b
}

// place is where an approach runs: its box, found again or made now.
func (r *race) place(i int) (*bench, error) {
	b := r.take(i)
	if b == nil {
		if err := context.Cause(r.trial); err != nil {
			return nil, err
		}
		r.jot(i, func(e *forkbox.Entry) { e.Phase, e.Started = forkbox.PhaseForking, r.now() })
		box, err := r.create(r.trial, r.boxSpec(i))
		if err != nil {
			return nil, err
		}
		b = r.newBench(i, max(1, r.entry(i).Attempt), box)
	}
	r.jot(i, func(e *forkbox.Entry) {
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

func (r *race) newBench(i, attempt int, box forkbox.Box) *bench {
	b := &bench{race: r, i: i, attempt: attempt, box: box}
	b.env = []string{"FORKBOX_RACE=" + r.name}
	if i != setupBench {
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
		spec.From, spec.Template = point, ""
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
		Net: s.Net, NetWish: s.NetWish, Wish: s.Wish, Race: r.id, Fence: r.record().Fence,
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
