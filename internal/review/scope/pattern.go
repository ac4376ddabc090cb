package scope

import (
	"path"
	"strings"
)

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
