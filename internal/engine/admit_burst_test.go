package engine

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/forkbox/forkbox"
)

// However many ask at once, a user has no more boxes than the quota, and no
// fewer.
func TestQuotaOfBoxesInABurst(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	const quota = 450
	none := int64(0)
	w.policies.with(func(p *fakePolicies) {
		p.admit = func(now Committed, want Want) Verdict {
			if n := now.ByUser[want.Owner.UID].Boxes; want.New && n >= quota {
				return Verdict{Wait: true, Why: fmt.Sprintf("%d of %d boxes", n, quota)}
			}
			return Verdict{OK: true}
		}
	})
	var made, refused atomic.Int64
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() {
			_, err := w.Create(t.Context(), ada, CreateSpec{Wish: forkbox.Wish{Wait: &none}})
			switch {
			case err == nil:
				made.Add(1)
			case forkbox.CodeOf(err) == forkbox.Busy:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() > quota || made.Load()+refused.Load() != 500 {
		t.Errorf("%d made, %d refused", made.Load(), refused.Load())
	}
	for range quota - int(made.Load()) {
		_, err := w.Create(t.Context(), ada, CreateSpec{Wish: forkbox.Wish{Wait: &none}})
		check(t, err)
	}
	if _, err := w.Create(t.Context(), ada, CreateSpec{Wish: forkbox.Wish{Wait: &none}}); forkbox.CodeOf(err) != forkbox.Busy {
		t.Errorf("one more: %v", err)
	}
}
