package scope

import "strings"

type part uint8

const (
	literal part = iota // this byte
	anyByte             // ? : any byte but a slash
	oneOf               // [a-z]
	star                // * : any bytes but slashes
	tail                // ** at the end: everything
	dirs                // **/ : nothing, or anything that ends in a slash
	someDir             // **\/ : anything that ends in a slash
)

// step is one element of a pattern.
type step struct {
	part part
	byte byte
	set  *set
}

// glob is a compiled pattern with the meaning that git gives it.
type glob []step

// resume is where a match goes on after a mismatch: with step i at text[at:].
type resume struct{ i, at int }

var nowhere = resume{-1, -1}

// match says whether all of text matches. Only the last * and the last ** need
// be tried again: whatever an earlier one could take instead, the later one
// can. So a hostile pattern costs a polynomial of its length, not 2 to its
// power.
func (g glob) match(text string) bool {
	i, at := 0, 0
	near, far := nowhere, nowhere
	for i < len(g) || at < len(text) {
		switch {
		case i < len(g) && g[i].part == tail:
			return true
		case i < len(g) && g[i].part == star:
			near = resume{i, at}
			i++
		case i < len(g) && (g[i].part == dirs || g[i].part == someDir):
			near, far = nowhere, resume{i, at}
			if g[i].part == someDir && !far.nextDir(text) {
				return false
			}
			i, at = far.i+1, far.at
		case i < len(g) && at < len(text) && g[i].takes(text[at]):
			i, at = i+1, at+1
		case near.nextByte(text):
			i, at = near.i+1, near.at
		case far.nextDir(text):
			near = nowhere
			i, at = far.i+1, far.at
		default:
			return false
		}
	}
	return true
}

// takes says whether b matches a step that stands for one byte.
func (s step) takes(b byte) bool {
	switch s.part {
	case literal:
		return b == s.byte
	case anyByte:
		return b != '/'
	default:
		return b != '/' && s.set.has(b)
	}
}

// nextByte has * take one byte more.
func (r *resume) nextByte(text string) bool {
	if r.i < 0 || r.at >= len(text) || text[r.at] == '/' {
		return false
	}
	r.at++
	return true
}

// nextDir has ** take one directory more.
func (r *resume) nextDir(text string) bool {
	if r.i < 0 {
		return false
	}
	slash := strings.IndexByte(text[r.at:], '/')
	if slash < 0 {
		return false
	}
	r.at += slash + 1
	return true
}
