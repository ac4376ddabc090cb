package change

import (
	"cmp"
	"crypto/sha256"
	"slices"
)

const (
	// enough is a rename: half of the file is as it was.
	enough = fullScore / 2
	// enoughByName is one where the name alone says which to compare.
	enoughByName = fullScore * 3 / 4
	// shortlist is how many sources are remembered for each target.
	shortlist = 4
)

// pair is a file that was moved.
type pair struct {
	source, target *candidate
	score          int
}

// percent is 100 only where the content is the same.
func (p pair) percent() int {
	if p.score == exact {
		return 100
	}
	return min(p.score*100/fullScore, 99)
}

// exact is the score of the same content; other content can have all of its
// lines, in another order.
const exact = fullScore + 1

// pairs finds what was moved, in git's order: the same content, then the same
// name, then whatever is most similar. Everything is one end of one pair.
func (r *Renames) pairs() (found []pair) {
	take := func(p pair) {
		if !p.source.taken && !p.target.taken {
			p.source.taken, p.target.taken = true, true
			found = append(found, p)
		}
	}
	r.sameContent(take)
	r.sameName(take)
	r.similar(take)
	return found
}

// sameContent pairs files with the same bytes; first those that kept their
// name, so that none of them is taken away by another.
func (r *Renames) sameContent(take func(pair)) {
	bySum := hashed(r.sources, sizes(r.targets))
	targets := hashed(r.targets, sizes(r.sources))
	for _, named := range []bool{true, false} {
		for sum, came := range targets {
			for _, t := range came {
				for _, s := range bySum[sum] {
					if !named || s.base() == t.base() {
						take(pair{s, t, exact})
					}
				}
			}
		}
	}
}

func sizes(all []*candidate) map[int64]bool {
	found := map[int64]bool{}
	for _, c := range all {
		found[c.size] = true
	}
	return found
}

// hashed has by content those candidates of which the other side has one of
// the same size. Large files are read here, and only then.
func hashed(all []*candidate, sizes map[int64]bool) map[[sha256.Size]byte][]*candidate {
	bySum := map[[sha256.Size]byte][]*candidate{}
	for _, c := range all {
		if sizes[c.size] && c.hash() {
			bySum[c.sum] = append(bySum[c.sum], c)
		}
	}
	return bySum
}

// sameName pairs files whose name is the only one of its kind on both sides.
func (r *Renames) sameName(take func(pair)) {
	sources, targets := byName(r.sources), byName(r.targets)
	for _, t := range r.targets {
		s := sources[t.base()]
		if s == nil || targets[t.base()] != t {
			continue
		}
		if score := r.compare(s, t); score >= enoughByName {
			take(pair{s, t, score})
		}
	}
}

// byName has the candidates that are free, by name; nil where several have it.
func byName(all []*candidate) map[string]*candidate {
	names := map[string]*candidate{}
	for _, c := range all {
		if c.taken {
			continue
		}
		if _, twice := names[c.base()]; twice {
			names[c.base()] = nil
		} else {
			names[c.base()] = c
		}
	}
	return names
}

// similar pairs what is left, the most similar first.
func (r *Renames) similar(take func(pair)) {
	var all []pair
	for _, t := range r.targets {
		if !t.taken {
			all = append(all, r.closest(t)...)
		}
	}
	slices.SortStableFunc(all, better)
	for _, p := range all {
		take(p)
	}
}

// closest are the sources that a target is most similar to.
func (r *Renames) closest(t *candidate) (best []pair) {
	for _, s := range r.sources {
		if s.taken {
			continue
		}
		if score := r.compare(s, t); score >= enough {
			best = append(best, pair{s, t, score})
			slices.SortStableFunc(best, better)
			best = best[:min(len(best), shortlist)]
		}
	}
	return best
}

// better: of equals the one that kept its name.
func better(a, b pair) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	kept := func(p pair) int {
		if p.source.base() == p.target.base() {
			return 0
		}
		return 1
	}
	return kept(a) - kept(b)
}

// compare measures two files, as long as there is time for it.
func (r *Renames) compare(s, t *candidate) int {
	if r.spent.steps > maxSteps {
		r.skipped = true
		return 0
	}
	r.spent.steps += len(s.print) + len(t.print) + 1
	return similarity(s, t)
}
