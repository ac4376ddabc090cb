package rank

import (
	"fmt"
	"testing"

	"github.com/forkbox/forkbox"
)

// BenchmarkRank is of as many as a race can have, all of which differ: each is
// compared with each.
func BenchmarkRank(b *testing.B) {
	for _, runs := range []int{10, 30, forkbox.MostRuns} {
		var entries []forkbox.Entry
		for i := range forkbox.MostApproaches {
			e := timed(fmt.Sprint("a", i))
			for v := range runs {
				e.Metrics[0].Values = append(e.Metrics[0].Values, float64(i+1)+float64(v)/1e6)
			}
			entries = append(entries, e)
		}
		spec := race(entries, build)
		b.Run(fmt.Sprint(runs), func(b *testing.B) {
			for b.Loop() {
				Rank(spec, entries)
				Unsettled(spec, entries)
			}
		})
	}
}
