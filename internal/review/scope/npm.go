package scope

import (
	"strings"

	"github.com/forkbox/forkbox"
)

// addNPM looks for directories below node_modules, and for a package.json that
// changed in one. A workspace has symlinks there to its own packages, which
// come and go in the same way.
func addNPM(t *tally, c forkbox.Change) {
	const dir = "/node_modules/"
	i := strings.LastIndex(c.Path, dir)
	if i < 0 {
		return
	}
	name, rest := npmName(c.Path[i+len(dir):])
	switch {
	case name == "":
	case rest == "package.json" && c.Kind == forkbox.Modified:
		t.note(name, updated)
	case rest != "" || c.Type != "dir" && c.Type != "symlink":
	case c.Kind == forkbox.Added || c.Kind == forkbox.Deleted:
		t.note(name, merge(t.did[name], deedOf(c.Kind)))
	}
}

// npmName splits what follows node_modules into a package's name, which is
// @scope/name for some, and the path in the package. Names that begin with a
// dot are npm's own.
func npmName(p string) (name, rest string) {
	name, rest, _ = strings.Cut(p, "/")
	if strings.HasPrefix(name, "@") {
		var inner string
		inner, rest, _ = strings.Cut(rest, "/")
		if inner == "" {
			return "", ""
		}
		name += "/" + inner
	}
	if strings.HasPrefix(name, ".") {
		return "", ""
	}
	return name, rest
}

// merge: what was removed in one place and installed in another was moved, or
// replaced by another version.
func merge(before, now deed) deed {
	if before != "" && before != now {
		return updated
	}
	return now
}
