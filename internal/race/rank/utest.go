package rank

import (
	"math"
	"sync"
)

// unlikely is below which chance noise does not explain a difference.
const unlikely = 0.01

// mostExact is up to how many values the test is exact. It costs the fourth
// power of that, and above it the normal distribution is as good.
const mostExact = 20

// chance is the p of a two-sided Mann–Whitney U test: how likely two samples of
// the same thing differ in their order by as much as these do, or more. Nothing
// is assumed about how values are distributed; times are never normal.
func chance(a, b sample) float64 {
	u, ties := statistic(a, b)
	if ties == 0 && len(a) <= mostExact && len(b) <= mostExact {
		return exact(u, len(a), len(b))
	}
	return approximate(u, ties, len(a), len(b))
}

// statistic is U of a, with a half for each value that is in both, and the sum
// of t³−t over all values that occur t times.
func statistic(a, b sample) (u, ties float64) {
	for i, j := 0, 0; i < len(a) || j < len(b); {
		v, atA, atB := 0.0, i, j
		if j == len(b) || i < len(a) && a[i] < b[j] {
			v = a[i]
		} else {
			v = b[j]
		}
		for i < len(a) && a[i] == v {
			i++
		}
		for j < len(b) && b[j] == v {
			j++
		}
		if t := float64(i - atA + j - atB); t > 1 {
			ties += t*t*t - t
		}
		u += float64(i-atA) * (float64(atB) + float64(j-atB)/2)
	}
	return u, ties
}

// exact counts, of all ways in which n and m values can be in order, those whose
// U is as far from the middle.
func exact(u float64, n, m int) float64 {
	ways := knownOrders(n, m)
	u = min(u, float64(n*m)-u)
	tail, total := 0.0, 0.0
	for i, w := range ways {
		if total += w; float64(i) <= u {
			tail += w
		}
	}
	return min(1, 2*tail/total)
}

// counted keeps what was counted, by the two sizes: a race of hundreds compares
// tens of thousands of pairs. There are few sizes.
var counted sync.Map

func knownOrders(n, m int) []float64 {
	sizes := [2]int{n, m}
	if ways, ok := counted.Load(sizes); ok {
		return ways.([]float64)
	}
	ways := orders(n, m)
	counted.Store(sizes, ways)
	return ways
}

// orders is in how many orders of n and m values U is 0, 1, … n·m. The largest
// value is one of the n, which then is above all m, or one of the m.
func orders(n, m int) []float64 {
	row := make([][]float64, m+1) // of the n so far, by how many of the m
	for j := range row {
		row[j] = []float64{1}
	}
	for i := 1; i <= n; i++ {
		next := make([][]float64, m+1)
		next[0] = []float64{1}
		for j := 1; j <= m; j++ {
			next[j] = make([]float64, i*j+1)
			for k, w := range row[j] {
				next[j][k+j] += w
			}
			for k, w := range next[j-1] {
				next[j][k] += w
			}
		}
		row = next
	}
	return row[m]
}

// approximate takes U for normally distributed, with less spread for values
// that are equal, and half a step for its being a whole number.
func approximate(u, ties float64, n, m int) float64 {
	a, b := float64(n), float64(m)
	all := a + b
	spread := math.Sqrt(a * b / 12 * (all + 1 - ties/(all*(all-1))))
	if spread == 0 || math.IsNaN(spread) {
		return 1
	}
	z := (math.Abs(u-a*b/2) - 0.5) / spread
	return min(1, math.Erfc(max(0, z)/math.Sqrt2))
}

// least is the smallest chance that samples of this size can have: above
// [unlikely] no difference, however large, passes the test.
func least(n, m int) float64 {
	ways := 1.0
	for i := 1; i <= min(n, m); i++ {
		ways = ways * float64(n+m-min(n, m)+i) / float64(i)
	}
	return 2 / ways
}
