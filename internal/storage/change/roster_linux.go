package change

import (
	"slices"
	"strings"

	"github.com/forkbox/forkbox/internal/linux"
)

// roster is the names in a directory, sorted.
type roster struct {
	names []string
	// owners says which parts of the directory have each name, the topmost
	// first. It is nil where there is one part, which then has them all. The
	// base counts as one more part, where its names were asked for.
	owners [][]int
}

// cut is the roster from one name to another.
func (r roster) cut(start, end int) roster {
	r.names = r.names[start:end]
	if r.owners != nil {
		r.owners = r.owners[start:end]
	}
	return r
}

// roll lists the names in all parts of a directory.
func roll(parts []part) (roster, error) {
	if len(parts) == 1 {
		names, err := linux.Names(parts[0].dir)
		return roster{names: names}, err
	}
	lists := make([][]string, len(parts))
	for i, p := range parts {
		var err error
		if lists[i], err = linux.Names(p.dir); err != nil {
			return roster{}, err
		}
	}
	return merge(lists), nil
}

// sighting is a name in one part.
type sighting struct {
	name string
	part int
}

func merge(lists [][]string) roster {
	var all []sighting
	for i, names := range lists {
		for _, name := range names {
			all = append(all, sighting{name, i})
		}
	}
	return together(all)
}

// together brings sightings, which are in the order of the parts, together.
func together(all []sighting) (r roster) {
	slices.SortStableFunc(all, func(a, b sighting) int { return strings.Compare(a.name, b.name) })
	owners := make([]int, len(all))
	for start := 0; start < len(all); {
		end := start
		for ; end < len(all) && all[end].name == all[start].name; end++ {
			owners[end] = all[end].part
		}
		r.names = append(r.names, all[start].name)
		r.owners = append(r.owners, owners[start:end:end])
		start = end
	}
	return r
}

// top is the part that decides what a name is.
func (r roster) top(i int, parts []part) part {
	switch {
	case r.owners == nil && len(parts) > 0:
		return parts[0]
	case r.owners != nil && r.owners[i][0] < len(parts):
		return parts[r.owners[i][0]]
	}
	return part{dir: none}
}

func (r roster) ownersOf(i int) []int {
	if r.owners == nil {
		return nil
	}
	return r.owners[i]
}

// with is the roster with the names of one more part, below all others.
func (r roster) with(names []string, number int) roster {
	if r.owners == nil {
		// One part: whether it has a name is found out when it is looked at.
		all := append(r.names, names...)
		slices.Sort(all)
		return roster{names: slices.Compact(all)}
	}
	var all []sighting
	for i, owners := range r.owners {
		for _, p := range owners {
			all = append(all, sighting{r.names[i], p})
		}
	}
	for _, name := range names {
		all = append(all, sighting{name, number})
	}
	return together(all)
}
