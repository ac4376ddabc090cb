package race

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/rank"
)

// measureAll takes the metrics of those who passed, one run at a time over the
// whole race: nothing else of it runs then. They take turns, in an order that
// chance gives each round, so that whatever else the machine does hits all of
// them alike.
func (r *race) measureAll() {
	if len(r.spec.Metrics) == 0 {
		return
	}
	benches := r.measured()
	r.evenOut(benches)
	for m := range r.spec.Metrics {
		r.takeRounds(benches, m)
	}
	r.measureMore(benches)
	r.cutShort(benches)
	for _, b := range benches {
		b.meter.look(b)
		cpu, peak := b.meter.used()
		r.edit(b.i, func(e *forkbox.Entry) {
			e.Phase, e.CPU, e.MemoryPeak = forkbox.PhaseDone, max(e.CPU, cpu), max(e.MemoryPeak, peak)
		})
	}
}

// measured are the boxes of those who passed, in the order of the list.
func (r *race) measured() (benches []*bench) {
	for i, b := range r.tries {
		if o := r.entry(i).Outcome; b != nil && (o == forkbox.OutcomePassed || o == forkbox.OutcomeFlaky) {
			b.spent = make([]time.Duration, len(r.spec.Metrics))
			r.edit(i, func(e *forkbox.Entry) {
				e.Phase, e.Metrics = forkbox.PhaseMeasuring, nil
				for _, m := range r.spec.Metrics {
					e.Metrics = append(e.Metrics, newMeasured(m))
				}
			})
			benches = append(benches, b)
		}
	}
	return benches
}

func newMeasured(m forkbox.Metric) forkbox.Measured {
	unit := m.Unit
	if m.Time {
		unit = "s"
	}
	name := title(m.Command)
	if name == "" {
		name = clip(line(m.Extract.File), 200)
	}
	return forkbox.Measured{Name: name, Unit: unit, Higher: m.Higher}
}

// evenOut has no box keep what its steps had started where another one had to
// make room.
func (r *race) evenOut(benches []*bench) {
	if !slices.ContainsFunc(benches, (*bench).isCut) {
		return
	}
	for _, b := range benches {
		b.meter.look(b)
		b.halt()
	}
	r.note("not all approaches had room to run at once: what their steps had started was ended before metrics were taken")
}

// takeRounds takes one metric as often as it is to be taken at least.
func (r *race) takeRounds(benches []*bench, m int) {
	runs, _, _ := rank.Plan(r.spec.Metrics[m])
	for n := range r.spec.Metrics[m].Warmup {
		r.round(benches, m, "warm", n)
	}
	for n := range runs {
		r.round(benches, m, "", n)
	}
}

// round has each of them measured once.
func (r *race) round(benches []*bench, m int, kind string, n int) {
	turn := uint64(m+1)<<32 | uint64(n)
	if kind != "" {
		turn |= 1 << 63
	}
	for _, at := range shuffled(len(benches), r.spec.Seed, turn) {
		if r.trial.Err() != nil {
			return
		}
		benches[at].measure(r.trial, m, kind, n)
	}
}

// measureMore measures those again whom noise may have put in their order,
// until it is clear or they have had their share.
func (r *race) measureMore(benches []*bench) {
	for r.trial.Err() == nil {
		again := r.unsettled(benches)
		if len(again) == 0 {
			return
		}
		for _, at := range shuffled(len(again), r.spec.Seed, uint64(len(again[0].values()))|1<<62) {
			if r.trial.Err() != nil {
				return
			}
			again[at].bench.measure(r.trial, again[at].metric, "", len(again[at].values()))
		}
	}
}

// want is a metric of an approach that is to be taken once more.
type want struct {
	bench  *bench
	metric int
}

func (w want) values() []float64 { return w.bench.entry(w.bench.i).Metrics[w.metric].Values }

// unsettled are those of the first metric on which it depends who comes first.
func (r *race) unsettled(benches []*bench) (again []want) {
	for _, need := range rank.Unsettled(r.spec, r.record().Entries) {
		at := slices.IndexFunc(benches, func(b *bench) bool { return b.approachName() == need.Approach })
		if at < 0 || len(again) > 0 && again[0].metric != need.Metric {
			continue
		}
		w := want{benches[at], need.Metric}
		_, most, budget := rank.Plan(r.spec.Metrics[need.Metric])
		if len(w.values()) < most && w.bench.spent[need.Metric] < budget {
			again = append(again, w)
		}
	}
	return again
}

// measure takes a metric once. One that failed is not taken any more.
func (b *bench) measure(ctx context.Context, m int, kind string, n int) {
	if b.entry(b.i).Metrics[m].Why != "" {
		return
	}
	began := time.Now()
	v, why, err := b.value(ctx, m, kind, n)
	if err != nil && (errors.Is(err, errClosing) || ctx.Err() != nil) {
		return
	}
	if err != nil {
		why = line(err.Error())
	}
	b.spent[m] += time.Since(began)
	b.edit(b.i, func(e *forkbox.Entry) {
		x := &e.Metrics[m]
		switch {
		case why != "":
			x.Why, x.Values = why, nil
		case kind == "":
			x.Values = append(x.Values, v)
		}
		rank.Summarize(x)
	})
}

// value is what one run of a metric gives.
func (b *bench) value(ctx context.Context, m int, kind string, n int) (v float64, why string, err error) {
	spec := b.spec.Metrics[m]
	label := b.label("metric", m, n)
	if kind != "" {
		label = b.label("metric", m, kind, n)
	}
	if spec.Time {
		if label, err = b.undisturbed(ctx, label, spec.Command); err != nil {
			return 0, "", err
		}
	}
	var x forkbox.Exec
	if spec.Run != "" || len(spec.Argv) > 0 {
		if x, err = b.do(ctx, label, spec.Command, 0); err != nil {
			return 0, "", err
		}
		if x.Exit.Code != 0 && !spec.MayFail {
			return 0, "it " + howItEnded(*x.Exit), nil
		}
	}
	if spec.Time {
		return took(x).Seconds(), "", nil
	}
	return b.number(ctx, label, spec.Command, spec.Extract, x)
}
