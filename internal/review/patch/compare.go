package patch

// The comparison is Myers' "O(ND) difference algorithm" in its linear-space
// form: search from both ends at once until the two meet, split there, and do
// the same with both halves.

const (
	// effort bounds the steps of one comparison; the more lines, the
	// fewer edits are looked for at a time.
	effort = 1 << 28
	// leastBound is the least number of edits looked for before settling for a
	// split that is good rather than best.
	leastBound = 32
	unreached  = -1 << 30
)

type comparison struct {
	a, b              []int32
	aAt, bAt          []int32 // where a line of a, b is in the whole input
	deleted, inserted []bool
	forward, backward []int32 // by diagonal: how far a search came
	bound             int
}

// compare marks the lines of a that are deleted and those of b that are
// inserted; what is not marked is equal, in order.
func compare(a, b []int32) (deleted, inserted []bool) {
	return compareWithin(a, b, max(leastBound, effort/(len(a)+len(b)+1)))
}

// compareWithin looks for at most bound edits before it settles for a split.
func compareWithin(a, b []int32, bound int) (deleted, inserted []bool) {
	c := comparison{deleted: make([]bool, len(a)), inserted: make([]bool, len(b)), bound: bound}
	c.a, c.aAt = shared(a, b, c.deleted)
	c.b, c.bAt = shared(b, a, c.inserted)
	total := len(c.a) + len(c.b)
	c.forward, c.backward = make([]int32, total+3), make([]int32, total+3)
	c.solve(0, len(c.a), 0, len(c.b))
	return c.deleted, c.inserted
}

// shared leaves out, and marks, the lines that the other side does not have at
// all: they cannot be equal to anything, and without them two files that have
// nothing in common cost nothing to compare.
func shared(lines, other []int32, mark []bool) (kept, at []int32) {
	there := make([]bool, len(lines)+len(other)) // numbers are below this
	for _, n := range other {
		there[n] = true
	}
	for i, n := range lines {
		if mark[i] = !there[n]; there[n] {
			kept, at = append(kept, n), append(at, int32(i))
		}
	}
	return kept, at
}

func (c *comparison) solve(aLo, aHi, bLo, bHi int) {
	for {
		for aLo < aHi && bLo < bHi && c.a[aLo] == c.b[bLo] {
			aLo, bLo = aLo+1, bLo+1
		}
		for aLo < aHi && bLo < bHi && c.a[aHi-1] == c.b[bHi-1] {
			aHi, bHi = aHi-1, bHi-1
		}
		if aLo == aHi || bLo == bHi {
			break
		}
		x, y := c.split(c.a[aLo:aHi], c.b[bLo:bHi])
		c.solve(aLo, aLo+x, bLo, bLo+y)
		aLo, bLo = aLo+x, bLo+y
	}
	for ; aLo < aHi; aLo++ {
		c.deleted[c.aAt[aLo]] = true
	}
	for ; bLo < bHi; bLo++ {
		c.inserted[c.bAt[bLo]] = true
	}
}

// split finds a point that a shortest path of edits from (0,0) to
// (len(a),len(b)) goes through, neither its start nor its end. Both are not
// empty and differ in their first and in their last line.
func (c *comparison) split(a, b []int32) (x, y int) {
	s := search{a: a, b: b, f: c.forward, g: c.backward, delta: len(a) - len(b)}
	s.begin()
	for cost := 1; ; cost++ {
		if x, y, met := s.stepForward(); met {
			return x, y
		}
		if x, y, met := s.stepBackward(); met {
			return x, y
		}
		if cost >= c.bound {
			return s.furthest()
		}
	}
}

// search is one search for a split. Diagonal k holds the points with x-y = k;
// f[k] is the largest x that a forward path of so many edits reached on it,
// g[k] the smallest x of a backward path. Only every second diagonal is of the
// current step, those between are of the step before.
type search struct {
	a, b     []int32
	f, g     []int32 // index: diagonal + len(b) + 1
	delta    int     // the diagonal of the end
	fLo, fHi int     // diagonals that forward paths have reached
	gLo, gHi int
	base     int
}

func (s *search) begin() {
	s.base = len(s.b) + 1
	s.gLo, s.gHi = s.delta, s.delta
	s.f[s.base] = 0
	s.g[s.base+s.delta] = int32(len(s.a))
}

// widen moves the range of diagonals by one on both sides. Where it has come to
// the edge of the rectangle it becomes narrower instead, which keeps every
// second diagonal.
func (s *search) widen(lo, hi *int, values []int32, none int32) {
	if *lo > -len(s.b) {
		*lo--
		values[s.base+*lo-1], values[s.base+*lo] = none, none
	} else {
		*lo++
	}
	if *hi < len(s.a) {
		*hi++
		values[s.base+*hi+1], values[s.base+*hi] = none, none
	} else {
		*hi--
	}
}

func (s *search) stepForward() (int, int, bool) {
	s.widen(&s.fLo, &s.fHi, s.f, unreached)
	n, m := int32(len(s.a)), int32(len(s.b))
	for k := s.fLo; k <= s.fHi; k += 2 {
		x := int32(unreached)
		if left := s.f[s.base+k-1]; left >= 0 && left < n {
			x = left + 1 // delete a line
		}
		if above := s.f[s.base+k+1]; above > x && above-int32(k) <= m {
			x = above // insert a line
		}
		if x >= 0 {
			for y := x - int32(k); x < n && y < m && s.a[x] == s.b[y]; y++ {
				x++
			}
		}
		s.f[s.base+k] = x
		if s.delta&1 != 0 && k >= s.gLo && k <= s.gHi && x >= s.g[s.base+k] {
			return int(x), int(x) - k, true
		}
	}
	return 0, 0, false
}

func (s *search) stepBackward() (int, int, bool) {
	s.widen(&s.gLo, &s.gHi, s.g, -unreached)
	n := int32(len(s.a))
	for k := s.gLo; k <= s.gHi; k += 2 {
		x := int32(-unreached)
		if right := s.g[s.base+k+1]; right <= n && right > 0 {
			x = right - 1
		}
		if below := s.g[s.base+k-1]; below < x && below-int32(k) >= 0 {
			x = below
		}
		if x <= n {
			for y := x - int32(k); x > 0 && y > 0 && s.a[x-1] == s.b[y-1]; y-- {
				x--
			}
		}
		s.g[s.base+k] = x
		if s.delta&1 == 0 && k >= s.fLo && k <= s.fHi && x <= s.f[s.base+k] {
			return int(x), int(x) - k, true
		}
	}
	return 0, 0, false
}

// furthest is where the search gives up looking for the best split: the point
// that most lines lie behind, seen from the start or from the end.
func (s *search) furthest() (x, y int) {
	most := -1
	for k := s.fLo; k <= s.fHi; k += 2 {
		if fx := int(s.f[s.base+k]); fx >= 0 && 2*fx-k > most {
			most, x, y = 2*fx-k, fx, fx-k
		}
	}
	whole := len(s.a) + len(s.b)
	for k := s.gLo; k <= s.gHi; k += 2 {
		if gx := int(s.g[s.base+k]); gx <= len(s.a) && whole-(2*gx-k) > most {
			most, x, y = whole-(2*gx-k), gx, gx-k
		}
	}
	return x, y
}
