package scope

import (
	"fmt"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// inside are the packages that own something that changed in a directory.
func (s *Sweep) inside(dir string, by map[string][]string) (names []string) {
	for _, p := range s.had {
		if s.system(p) == dir && !s.isNamed(p) {
			names = append(names, by[p]...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// packaged are the changes of what packages own that nothing else was said of:
// they are elsewhere than the system is, and were not deleted.
func (s *Sweep) packaged(by map[string][]string) (list []forkbox.Caution) {
	more := 0
	for _, p := range s.had {
		switch {
		case len(by[p]) == 0, s.system(p) != "", s.isNamed(p):
		case len(list) < namedDeletions:
			list = append(list, forkbox.Caution{Path: p, Why: "changed, outside the workspace" + ownedBy(by[p])})
		default:
			more++
		}
	}
	if more > 0 {
		list = append(list, forkbox.Caution{Path: "/", Why: fmt.Sprintf("%d more paths that packages own are changed or deleted", more)})
	}
	return list
}

// isNamed says whether p is among the deletions that are listed.
func (s *Sweep) isNamed(p string) bool {
	return slices.ContainsFunc(s.deleted, func(c forkbox.Caution) bool { return c.Path == p })
}

// ownersShown is how many packages a question names.
const ownersShown = 3

func ownedBy(names []string) string {
	if len(names) == 0 {
		return ""
	}
	text := printable(strings.Join(names[:min(len(names), ownersShown)], ", "))
	if more := len(names) - ownersShown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "; owned by " + text
}
