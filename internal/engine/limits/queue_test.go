package limits

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

// Whatever comes and goes: never are more admitted than there are places, who
// has a free place does not wait, and no request is overtaken by an equal.
func TestQueueModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		all, each := rapid.IntRange(1, 4).Draw(r, "places"), rapid.IntRange(1, 3).Draw(r, "each")
		q := newLine(&fakePolicies{admit: places(all, each)})
		var inside, line []*waiter
		settle := func() {
			for _, w := range slices.Clone(line) {
				if answered(w) {
					line = slices.DeleteFunc(line, func(o *waiter) bool { return o == w })
					inside = append(inside, w)
				}
			}
		}
		for n := range rapid.IntRange(1, 40).Draw(r, "steps") {
			switch step := rapid.SampledFrom([]string{"join", "join", "done", "leave"}).Draw(r, "step"); {
			case step == "join":
				w := &waiter{
					want: Want{Owner: forkbox.Owner{UID: rapid.IntRange(1, 3).Draw(r, "uid")}, Start: true}, what: fmt.Sprint(n),
					priority: rapid.SampledFrom([]forkbox.Priority{forkbox.LowPriority, forkbox.NormalPriority, forkbox.HighPriority}).Draw(r, "priority"),
				}
				q.join(w)
				line = append(line, w)
			case step == "done" && len(inside) > 0:
				i := rapid.IntRange(0, len(inside)-1).Draw(r, "who")
				inside[i].pass.Done()
				inside = slices.Delete(inside, i, i+1)
			case step == "leave" && len(line) > 0:
				i := rapid.IntRange(0, len(line)-1).Draw(r, "who")
				if place, _ := q.leave(line[i]); place == 0 {
					r.Fatal("somebody in line had no place")
				}
				line = slices.Delete(line, i, i+1)
			}
			settle()
			checkQueue(r, q, inside, line, all, each)
		}
	})
}

func answered(w *waiter) bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

func checkQueue(r *rapid.T, q *Line, inside, line []*waiter, all, each int) {
	users := map[int]int{}
	for _, w := range inside {
		users[w.want.Owner.UID]++
	}
	for uid, n := range users {
		if n > each {
			r.Fatalf("user %d has %d places of %d", uid, n, each)
		}
	}
	if len(inside) > all || len(q.waiting) != len(line) {
		r.Fatalf("%d have one of %d places; %d wait, %d should", len(inside), all, len(q.waiting), len(line))
	}
	// In line stands who comes first first, and who could go on does not.
	want := slices.Clone(line)
	slices.SortStableFunc(want, func(a, b *waiter) int { return rank(a.priority) - rank(b.priority) })
	for i, w := range q.waiting {
		if w != want[i] {
			r.Fatalf("place %d is %s's, want %s's", i+1, w.what, want[i].what)
		}
		if w.why == "" {
			r.Fatalf("%s does not know why it waits", w.what)
		}
		if len(inside) < all && users[w.want.Owner.UID] < each {
			r.Fatalf("%s waits and there is a place", w.what)
		}
	}
}
