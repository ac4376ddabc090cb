package race

import (
	"context"
	"errors"
	"fmt"
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
	lanes := r.passedLanes()
	r.evenOut(lanes)
	for m := range r.spec.Metrics {
		r.takeRounds(lanes, m)
	}
	r.measureMore(lanes)
	r.cutShort(lanes)
	for _, b := range lanes {
		b.meter.update(b)
		cpu, peak := b.meter.used()
		r.edit(b.i, func(e *forkbox.Entry) {
			e.Phase, e.CPU, e.MemoryPeak = forkbox.PhaseDone, max(e.CPU, cpu), max(e.MemoryPeak, peak)
		})
	}
}

// passedLanes are the boxes of those who passed, in the order of the list.
func (r *race) passedLanes() (lanes []*lane) {
	for i, b := range r.tries {
		if o := r.entry(i).Outcome; b != nil && (o == forkbox.OutcomePassed || o == forkbox.OutcomeFlaky) {
			b.spent = make([]time.Duration, len(r.spec.Metrics))
			r.edit(i, func(e *forkbox.Entry) {
				e.Phase, e.Metrics = forkbox.PhaseMeasuring, nil
				for _, m := range r.spec.Metrics {
					e.Metrics = append(e.Metrics, newMeasured(m))
				}
			})
			lanes = append(lanes, b)
		}
	}
	return lanes
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
func (r *race) evenOut(lanes []*lane) {
	if !slices.ContainsFunc(lanes, (*lane).isCut) {
		return
	}
	for _, b := range lanes {
		b.meter.update(b)
		b.halt()
	}
	r.note("not all approaches had room to run at once: what their steps had started was ended before metrics were taken")
}

// takeRounds takes one metric as often as it is to be taken at least.
func (r *race) takeRounds(lanes []*lane, m int) {
	runs, _, _ := rank.Plan(r.spec.Metrics[m])
	for n := range r.spec.Metrics[m].Warmup {
		r.measureRound(lanes, m, "warm", n)
	}
	for n := range runs {
		r.measureRound(lanes, m, "", n)
	}
}

// measureRound has each of them measured once.
func (r *race) measureRound(lanes []*lane, m int, kind string, n int) {
	turn := uint64(m+1)<<32 | uint64(n)
	if kind != "" {
		turn |= 1 << 63
	}
	for _, at := range shuffled(len(lanes), r.spec.Seed, turn) {
		if r.trial.Err() != nil {
			return
		}
		lanes[at].measure(r.trial, m, kind, n)
	}
}

// measureMore measures those again whom noise may have put in their order,
// until it is clear or they have had their share.
func (r *race) measureMore(lanes []*lane) {
	for r.trial.Err() == nil {
		again := r.unsettled(lanes)
		if len(again) == 0 {
			return
		}
		for _, at := range shuffled(len(again), r.spec.Seed, uint64(len(again[0].values()))|1<<62) {
			if r.trial.Err() != nil {
				return
			}
			again[at].lane.measure(r.trial, again[at].metric, "", len(again[at].values()))
		}
	}
}

// want is a metric of an approach that is to be taken once more.
type want struct {
	lane   *lane
	metric int
}

func (w want) values() []float64 { return w.lane.entry(w.lane.i).Metrics[w.metric].Values }

// unsettled are those of the first metric on which it depends who comes first.
func (r *race) unsettled(lanes []*lane) (again []want) {
	for _, need := range rank.Unsettled(r.spec, r.record().Entries) {
		at := slices.IndexFunc(lanes, func(b *lane) bool { return b.approachName() == need.Approach })
		if at < 0 || len(again) > 0 && again[0].metric != need.Metric {
			continue
		}
		w := want{lanes[at], need.Metric}
		_, most, budget := rank.Plan(r.spec.Metrics[need.Metric])
		if len(w.values()) < most && w.lane.spent[need.Metric] < budget {
			again = append(again, w)
		}
	}
	return again
}

// measure takes a metric once. One that failed is not taken any more.
func (b *lane) measure(ctx context.Context, m int, kind string, n int) {
	if b.entry(b.i).Metrics[m].Why != "" {
		return
	}
	began := time.Now()
	v, why, err := b.measureOnce(ctx, m, kind, n)
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

// measureOnce is what one run of a metric gives.
func (b *lane) measureOnce(ctx context.Context, m int, kind string, n int) (v float64, why string, err error) {
	spec := b.spec.Metrics[m]
	label := b.label("metric", m, n)
	if kind != "" {
		label = b.label("metric", m, kind, n)
	}
	if spec.Time {
		if label, err = b.findUndisturbed(ctx, label, spec.Command); err != nil {
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
	return b.findNumber(ctx, label, spec.Command, spec.Extract, x)
}

// cutShort is for metrics that the deadline ended: who happened to have had
// more turns by then must not win by that. Of each metric so many rounds count
// as all had, and where an approach had none, it does not count at all. Runs
// beyond those that are due stay: only noise decided who got them.
func (r *race) cutShort(lanes []*lane) {
	if r.trial.Err() == nil || r.ctx.Err() != nil {
		return
	}
	for m := range r.spec.Metrics {
		due, _, _ := rank.Plan(r.spec.Metrics[m])
		if rounds, name := common(lanes, m); rounds < due {
			r.dropBeyond(lanes, m, rounds)
			r.note(fmt.Sprintf("the deadline came before %s was measured for all as often as it should be: %s", name, countedRounds(rounds)))
		}
	}
}

// common is how many rounds of a metric all had who can have a value, and what
// the metric is called.
func common(lanes []*lane, m int) (rounds int, name string) {
	rounds = forkbox.MostRuns
	for _, b := range lanes {
		x := b.entry(b.i).Metrics[m]
		if name = x.Name; x.Why == "" {
			rounds = min(rounds, len(x.Values))
		}
	}
	return rounds, name
}

// dropBeyond leaves so many values of a metric.
func (r *race) dropBeyond(lanes []*lane, m, rounds int) {
	for _, b := range lanes {
		r.edit(b.i, func(e *forkbox.Entry) {
			x := &e.Metrics[m]
			if x.Values = x.Values[:min(rounds, len(x.Values))]; rounds == 0 {
				// Also of who failed it: the others were not asked.
				x.Values, x.Why = nil, "the deadline came before all were measured"
			}
			rank.Summarize(x)
		})
	}
}

func countedRounds(n int) string {
	switch n {
	case 0:
		return "it does not count"
	case 1:
		return "one round of it counts"
	}
	return fmt.Sprintf("%d rounds of it count", n)
}

// findUndisturbed is the label of a run that no daemon died in: the daemon that
// looks at the clock when a command has ended must be there then. One that a
// daemon did die in is waited for, and made again under the next label.
func (b *lane) findUndisturbed(ctx context.Context, label string, c forkbox.Command) (string, error) {
	first := label
	for n := 2; ; n++ {
		next := fmt.Sprintf("%s/again/%d", first, n)
		x, known := b.known[label]
		_, repeated := b.known[next]
		if !known || !repeated && !b.spans(x) {
			return label, nil
		}
		if _, err := b.do(ctx, label, c, 0); err != nil {
			return label, err
		}
		label = next
	}
}

// spans says whether an exec that was there before this daemon was still ran
// when the daemon began.
func (b *lane) spans(x forkbox.Exec) bool {
	return x.Ended == nil || x.Started.Before(b.since) && !x.Ended.Before(b.since)
}
