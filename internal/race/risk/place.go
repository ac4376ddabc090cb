package risk

import (
	"path"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// place is a path as rules look at it.
type place struct {
	rel  string   // below the workspace, without a slash first, in lower case
	base string   // the last name of it
	dirs []string // the others
	name string   // base as it is written
}

func (n *Notes) place(p string) place {
	rel := p
	if n.Root != "" && forkbox.Within(p, n.Root) {
		rel = p[len(strings.TrimSuffix(n.Root, "/")):]
	}
	rel = strings.TrimPrefix(rel, "/")
	names := strings.Split(strings.ToLower(rel), "/")
	last := len(names) - 1
	return place{rel: strings.ToLower(rel), base: names[last], dirs: names[:last], name: path.Base(rel)}
}

// in says whether one of the directories it lies in is called so.
func (p place) in(names ...string) bool {
	return slices.ContainsFunc(p.dirs, func(d string) bool { return slices.Contains(names, d) })
}

// under says whether it is dir, such as "a/b", or lies below one.
func (p place) under(dir string) bool { return strings.Contains("/"+p.rel+"/", "/"+dir+"/") }

// named says whether it has one of these names; a star stands for anything.
func (p place) named(patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(x string) bool {
		head, tail, star := strings.Cut(x, "*")
		if !star {
			return p.base == x
		}
		return len(p.base) >= len(head)+len(tail) && strings.HasPrefix(p.base, head) && strings.HasSuffix(p.base, tail)
	})
}
