package rank

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestChanceIsThatOfAllOrders compares with what counting every order gives.
func TestChanceIsThatOfAllOrders(t *testing.T) {
	for n := 1; n <= 6; n++ {
		for m := 1; m <= 6; m++ {
			counts := make([]float64, n*m+1)
			for set := range 1 << (n + m) {
				if bits.OnesCount(uint(set)) == n {
					counts[wins(set, n+m)]++
				}
			}
			if got := orders(n, m); !slices.Equal(got, counts) {
				t.Errorf("%d and %d: %v, not %v", n, m, got, counts)
			}
		}
	}
}

// wins is U of those whose bits are set, in ascending order.
func wins(set, all int) (u int) {
	below := 0
	for i := range all {
		if set>>i&1 == 0 {
			below++
		} else {
			u += below
		}
	}
	return u
}

func TestChance(t *testing.T) {
	for _, c := range []struct {
		a, b sample
		p    float64
	}{
		{sample{1, 2, 3, 4, 5}, sample{6, 7, 8, 9, 10}, 2.0 / 252},
		{sample{6, 7, 8, 9, 10}, sample{1, 2, 3, 4, 5}, 2.0 / 252},
		{sample{1, 3, 5, 7}, sample{2, 4, 6, 8}, 0.6857142857},
		{sample{1}, sample{2}, 1},
		// By hand: U = 4.5; three twos and two threes leave a variance of 22.22,
		// so z = (12.5 - 4.5 - 0.5) / 4.714 = 1.591.
		{sample{1, 2, 2, 3, 4}, sample{2, 3, 5, 6, 7}, 0.1116118},
		{sample{1, 1, 1}, sample{1, 1}, 1},
	} {
		if got := chance(c.a, c.b); math.Abs(got-c.p) > 1e-6 {
			t.Errorf("%v and %v: %v, not %v", c.a, c.b, got, c.p)
		}
	}
}

// TestApproximation: where both can be used they agree.
func TestApproximation(t *testing.T) {
	for u := 0.0; u <= 400; u++ {
		if e, a := exact(u, 20, 20), approximate(u, 0, 20, 20); math.Abs(e-a) > 0.005 {
			t.Errorf("U = %v: exactly %v, about %v", u, e, a)
		}
	}
}

func TestLeast(t *testing.T) {
	for n := 1; n <= 8; n++ {
		for m := 1; m <= 8; m++ {
			if got, want := least(n, m), exact(0, n, m); math.Abs(got-want) > 1e-12 && want < 1 {
				t.Errorf("%d and %d: %v, not %v", n, m, got, want)
			}
		}
	}
}

// TestFalseAlarms measures the same thing twice, many times, and looks as a race
// does: after every round, and stops when it seems sure. It must not be wrong
// much more often than it says.
func TestFalseAlarms(t *testing.T) {
	const races, least, most = 2000, 10, 30
	draw := rand.New(rand.NewPCG(1, 2))
	wrong := 0
	for range races {
		a, b := lateTimes(draw, most), lateTimes(draw, most)
		n := least
		for n < most && chance(sampleOf(a[:n]), sampleOf(b[:n])) >= ahead.limit() {
			n++
		}
		if chance(sampleOf(a[:n]), sampleOf(b[:n])) < verdict.limit() {
			wrong++
		}
	}
	if wrong > races*2/100 {
		t.Errorf("%d of %d races of equals had a winner", wrong, races)
	}
}

// lateTimes are like those of programs: close to the fastest, with a long tail.
func lateTimes(draw *rand.Rand, n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = 1 + 0.05*draw.ExpFloat64()
	}
	return all
}
