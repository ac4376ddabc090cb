package race

import (
	"context"
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/rank"
)

// cutShort is for metrics that the deadline ended: who happened to have had more
// turns by then must not win by that. Of each metric so many rounds count as all
// had, and where somebody had none, it does not count at all. Runs beyond those
// that are due stay: only noise decided who got them.
func (r *race) cutShort(benches []*bench) {
	if r.trial.Err() == nil || r.ctx.Err() != nil {
		return
	}
	for m := range r.spec.Metrics {
		due, _, _ := rank.Plan(r.spec.Metrics[m])
		if rounds, name := common(benches, m); rounds < due {
			r.dropBeyond(benches, m, rounds)
			r.note(fmt.Sprintf("the deadline came before %s was measured for all as often as it should be: %s", name, countedRounds(rounds)))
		}
	}
}

// common is how many rounds of a metric all had who can have a value, and what
// the metric is called.
func common(benches []*bench, m int) (rounds int, name string) {
	rounds = forkbox.MostRuns
	for _, b := range benches {
		x := b.entry(b.i).Metrics[m]
		if name = x.Name; x.Why == "" {
			rounds = min(rounds, len(x.Values))
		}
	}
	return rounds, name
}

// dropBeyond leaves so many values of a metric.
func (r *race) dropBeyond(benches []*bench, m, rounds int) {
	for _, b := range benches {
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

// undisturbed is the label of a run that no daemon died in: whoever looks at the
// clock when a command has ended must be there then. One that a daemon did die
// in is waited for, and made again under the next label.
func (b *bench) undisturbed(ctx context.Context, label string, c forkbox.Command) (string, error) {
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
func (b *bench) spans(x forkbox.Exec) bool {
	return x.Ended == nil || x.Started.Before(b.since) && !x.Ended.Before(b.since)
}
