package retention

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

// checkRules: only what may go goes, all that is too old and may go goes, what
// is too old and may not is told, and no box is told twice.
func checkRules(t *rapid.T) {
	s := drawSituation(t)
	remove, keep := s.decide()
	told := map[string]bool{}
	for _, c := range slices.Concat(remove, keep) {
		if s.fact(t, c.ID); told[c.ID] || c.Why == "" {
			t.Fatalf("%+v is told twice, or without a reason", c)
		}
		told[c.ID] = true
	}
	for _, f := range s.facts {
		goes, may, old := has(remove, f.Box.ID), s.mayGo(f), s.tooOld(f)
		if goes && !may || !goes && may && old || old && !told[f.Box.ID] {
			t.Fatalf("%+v: goes %v, may go %v, too old %v", f, goes, may, old)
		}
		if told[f.Box.ID] && !old && s.limit() == 0 {
			t.Fatalf("%+v is told, and nothing speaks against it", f)
		}
	}
}

// checkSize: what goes for its size is the least recently used of what frees
// something, and no more than is needed; and if it is not enough, nothing that
// may go and frees something is left.
func checkSize(t *rapid.T) {
	s := drawSituation(t)
	remove, _ := s.decide()
	left, bySize, stay := s.total, []Facts{}, []Facts{}
	for _, f := range s.facts {
		switch goes := has(remove, f.Box.ID); {
		case goes && s.tooOld(f):
			left -= max(0, f.Bytes)
		case goes:
			bySize = append(bySize, f)
		case s.mayGo(f) && f.Bytes > 0:
			stay = append(stay, f)
		}
	}
	slices.SortFunc(bySize, func(a, b Facts) int { return leastRecent(candidate{Facts: a}, candidate{Facts: b}) })
	for _, f := range bySize {
		if left = max(0, left); s.limit() == 0 || left <= s.limit() || f.Bytes <= 0 {
			t.Fatalf("%+v goes, with %d left and a limit of %d", f, left, s.limit())
		}
		for _, other := range stay {
			if other.used().Before(f.used()) {
				t.Fatalf("%+v goes and %+v stays", f, other)
			}
		}
		left -= f.Bytes
	}
	if s.limit() > 0 && left > s.limit() && len(stay) > 0 {
		t.Fatalf("%d left with a limit of %d, and %+v stay", left, s.limit(), stay)
	}
}

func checkOrder(t *rapid.T) {
	s := drawSituation(t)
	remove, keep := s.decide()
	for _, list := range [][]forkbox.Collected{remove, keep} {
		for i := 1; i < len(list); i++ {
			if s.fact(t, list[i].ID).used().Before(s.fact(t, list[i-1].ID).used()) {
				t.Fatalf("%v is not the least recently used first", list)
			}
		}
	}
	s.facts = rapid.Permutation(s.facts).Draw(t, "shuffled")
	if again, keptAgain := s.decide(); !reflect.DeepEqual(again, remove) || !reflect.DeepEqual(keptAgain, keep) {
		t.Fatalf("it depends on the order: %v, %v and %v, %v", remove, keep, again, keptAgain)
	}
}

// checkMonotone: who asks for less to be left gets no less removed.
func checkMonotone(t *rapid.T) {
	s := drawSituation(t)
	s.spec.MaxSize = rapid.Int64Range(1, 40).Draw(t, "looser")
	loose, _ := s.decide()
	s.spec.MaxSize = rapid.Int64Range(1, s.spec.MaxSize).Draw(t, "stricter")
	strict, _ := s.decide()
	for _, c := range loose {
		if !has(strict, c.ID) {
			t.Fatalf("%+v stays with the stricter size", c)
		}
	}
}

// checkIdempotent: what is left was left for good.
func checkIdempotent(t *rapid.T) {
	s := drawSituation(t)
	remove, keep := s.decide()
	for _, c := range remove {
		s.total = max(0, s.total-max(0, c.Bytes))
	}
	s.facts = slices.DeleteFunc(slices.Clone(s.facts), func(f Facts) bool { return has(remove, f.Box.ID) })
	again, keptAgain := s.decide()
	if len(again) > 0 {
		t.Fatalf("it removes more: %v", again)
	}
	for _, c := range keptAgain {
		if !has(keep, c.ID) {
			t.Fatalf("it tells more: %v and then %v", keep, keptAgain)
		}
	}
}

// checkReadOnly: deciding does not alter what it is given.
func checkReadOnly(t *rapid.T) {
	s := drawSituation(t)
	before := slices.Clone(s.facts)
	s.decide()
	if !reflect.DeepEqual(before, s.facts) {
		t.Fatalf("%+v became %+v", before, s.facts)
	}
}

func TestRules(t *testing.T)      { rapid.Check(t, checkRules) }
func TestSizeLimit(t *testing.T)  { rapid.Check(t, checkSize) }
func TestOrder(t *testing.T)      { rapid.Check(t, checkOrder) }
func TestMonotone(t *testing.T)   { rapid.Check(t, checkMonotone) }
func TestIdempotent(t *testing.T) { rapid.Check(t, checkIdempotent) }
func TestReadOnly(t *testing.T)   { rapid.Check(t, checkReadOnly) }

func FuzzDecide(f *testing.F) {
	seed := make([]byte, 1<<20) // with fewer there is nothing to draw from
	rand.NewChaCha8([32]byte{}).Read(seed)
	f.Add(seed)
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		for _, check := range []func(*rapid.T){checkRules, checkSize, checkOrder, checkMonotone, checkIdempotent} {
			check(t)
		}
	}))
}
