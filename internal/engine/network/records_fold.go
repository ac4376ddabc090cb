package network

import (
	"github.com/forkbox/forkbox"
)

// foldKinds is how many different refusals are told apart where there is no
// room for each of them.
const foldKinds = 1024

// folds are refusals that have no record each.
type folds struct {
	kept  map[foldKey]int
	conns []forkbox.Conn
}

// foldKey is what refusals that become one have in common.
type foldKey struct {
	box, exec string
	target    forkbox.NetTarget
}

// add counts one. Where there are too many kinds, all others of a box are one.
func (f *folds) add(c forkbox.Conn) {
	if f.kept == nil {
		f.kept = map[foldKey]int{}
	}
	key := foldKey{c.Box, c.Exec, c.Target}
	i, has := f.kept[key]
	if !has && len(f.conns) >= foldKinds {
		c, key = rest(c), foldKey{box: c.Box}
		i, has = f.kept[key]
	}
	if !has {
		f.kept[key] = len(f.conns)
		f.conns = append(f.conns, c)
		return
	}
	f.conns[i].Times = times(f.conns[i]) + times(c)
}

// rest is the record of refusals of which only the number is known.
func rest(c forkbox.Conn) forkbox.Conn {
	return forkbox.Conn{
		ID: c.ID, Box: c.Box, Name: c.Name, UID: c.UID, Time: c.Time, State: c.State, Times: c.Times,
		NetVerdict: forkbox.NetVerdict{Why: "more attempts were refused than could be written down one by one"},
	}
}

func times(c forkbox.Conn) int { return max(1, c.Times) }

// take empties it.
func (f *folds) take() []forkbox.Conn {
	out := f.conns
	*f = folds{}
	return out
}
