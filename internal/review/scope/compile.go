package scope

import "strings"

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
