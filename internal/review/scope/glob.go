package scope

import (
	"path"
	"strings"
)

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

// compile reads a pattern. It is false for one that git takes for malformed:
// that matches nothing.
func compile(pattern string) (glob, bool) {
	g := make(glob, 0, len(pattern))
	for i := 0; i < len(pattern); {
		next, n := compileStep(pattern, i)
		if n == 0 {
			return nil, false
		}
		g = append(g, next)
		i += n
	}
	return g, true
}

// compileStep reads the step at i and says how long it is: 0 if malformed.
func compileStep(pattern string, i int) (step, int) {
	switch rest := pattern[i:]; rest[0] {
	case '\\':
		if len(rest) == 1 {
			return step{}, 0
		}
		return step{part: literal, byte: rest[1]}, 2
	case '?':
		return step{part: anyByte}, 1
	case '[':
		set, n := parseSet(rest)
		return step{part: oneOf, set: set}, n
	case '*':
		return compileStars(pattern, i)
	default:
		return step{part: literal, byte: rest[0]}, 1
	}
}

// compileStars reads one star or several. Two or more are special only where
// they are all that is between two slashes, or a slash and an end.
func compileStars(pattern string, i int) (step, int) {
	rest := strings.TrimLeft(pattern[i:], "*")
	n := len(pattern) - i - len(rest)
	if n == 1 || i > 0 && pattern[i-1] != '/' {
		return step{part: star}, n
	}
	switch {
	case rest == "":
		return step{part: tail}, n
	case rest[0] == '/':
		return step{part: dirs}, n + 1
	case strings.HasPrefix(rest, `\/`):
		return step{part: someDir}, n + 2
	}
	return step{part: star}, n
}

// Patterns says whether a path is meant by one of some patterns, or lies below
// a directory that is. They mean what they mean in an ignore file, and paths are
// relative to the directory that this would lie in.
func Patterns(patterns []string) (match func(rel string) bool) {
	var rules []rule
	for _, p := range patterns {
		if r, ok := parseRule(path.Clean(p)); ok { // "./a" is a
			// "./none" is the one that lies there, not one at any depth.
			r.baseOnly = r.baseOnly && !strings.HasPrefix(p, "./")
			rules = append(rules, r)
		}
	}
	return func(rel string) bool {
		for end := 0; end < len(rel); end++ {
			next := strings.IndexByte(rel[end:], '/')
			if next < 0 {
				next = len(rel) - end
			}
			end += next
			for i := range rules {
				if rules[i].match(rel[:end], path.Base(rel[:end]), true) {
					return true
				}
			}
		}
		return false
	}
}
