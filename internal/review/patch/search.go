package patch

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
