package scope

import (
	"fmt"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// Sweep finds what deserves a second look because of where, and how much, an
// apply deletes or changes: no single change shows it. It is fed all that is
// to land.
type Sweep struct {
	root string // the workspace, "" for none

	deleted []forkbox.Caution // the first of those outside the workspace
	more    int               // deletions that are not among them
	whole   []forkbox.Caution // directories of the workspace
	lost    int               // paths of the workspace that go
	changed map[string]touched
	had     []string // outside the workspace, what was there before and is not as it was
}

// touched are changes below one of the system's directories.
type touched struct {
	n     int
	first string
}

// Owners names, of the paths that it is asked for, those that packages own, and
// the packages.
type Owners func(paths []string) map[string][]string

// NewSweep is for one apply of a box with that workspace.
func NewSweep(root string) *Sweep { return &Sweep{root: root, changed: map[string]touched{}} }

const (
	// namedDeletions is how many a question lists.
	namedDeletions = 20
	// largeDirectory, deleted as a whole, is more than a small cleaning up.
	largeDirectory = 10
	// manyPaths of the workspace are not deleted in passing.
	manyPaths = 100
	// mostAsked bounds of how many paths the packages are asked for.
	mostAsked = 10000
)

// systemDirs are what the machine is made of.
var systemDirs = []string{"/etc", "/usr", "/boot", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// workDirs lie in one of those and hold people's work all the same.
var workDirs = []string{"/usr/src", "/usr/local/src", "/usr/home"}

// Add looks at a change that lands.
func (s *Sweep) Add(c forkbox.Change) {
	switch {
	case c.Kind == forkbox.Deleted, takesAll(c) && c.Kind == forkbox.Type:
		s.delete(c.Path, c.Entries)
	case c.Kind == forkbox.Renamed && c.From != "":
		if !s.works(c.From) {
			s.delete(c.From, c.Entries)
		}
	}
	s.ask(c)
	if c.Kind == forkbox.Deleted {
		return
	}
	if dir := s.system(c.Path); dir != "" {
		t := s.changed[dir]
		if t.n++; t.n == 1 {
			t.first = c.Path
		}
		s.changed[dir] = t
	}
}

// ask remembers what a package may own. A directory that only has another mode
// is as much there as before.
func (s *Sweep) ask(c forkbox.Change) {
	p := c.Path
	switch {
	case c.Kind == forkbox.Renamed:
		p = c.From
	case c.Kind == forkbox.Added, c.Type == "dir" && c.Kind != forkbox.Deleted:
		return
	}
	if p != "" && !s.works(p) && len(s.had) < mostAsked {
		s.had = append(s.had, p)
	}
}

func (s *Sweep) delete(p string, below int) {
	switch {
	case !s.works(p) && len(s.deleted) < namedDeletions:
		s.deleted = append(s.deleted, forkbox.Caution{Path: p, Why: "deleted, outside the workspace" + withBelow(below)})
	case !s.works(p):
		s.more += 1 + below
	case below >= largeDirectory:
		s.whole = append(s.whole, forkbox.Caution{Path: p, Why: "a whole directory is deleted" + withBelow(below)})
	default:
		s.lost += 1 + below
	}
}

// works says whether a path is of the workspace. One in the middle of the
// system is no excuse.
func (s *Sweep) works(p string) bool {
	return s.root != "" && p != s.root && forkbox.Within(p, s.root) && s.system(p) == ""
}

// system is the directory of the system that p belongs to, "" if none.
func (s *Sweep) system(p string) string {
	if s.root != "" && forkbox.Within(p, s.root) && slices.ContainsFunc(workDirs, func(dir string) bool { return forkbox.Within(s.root, dir) }) {
		return ""
	}
	for _, dir := range systemDirs {
		if forkbox.Within(p, dir) {
			return dir
		}
	}
	return ""
}

// Cautions are what was found, in an order that does not vary. The package
// manager is not asked who owns what as long as nothing outside the workspace
// is other than before.
func (s *Sweep) Cautions(owners Owners) []forkbox.Caution {
	var by map[string][]string
	if len(s.had) > 0 {
		by = owners(s.had)
	}
	list := slices.Clone(s.deleted)
	for i, c := range list {
		list[i].Why += ownedBy(by[c.Path])
	}
	if s.more > 0 {
		list = append(list, forkbox.Caution{Path: "/", Why: fmt.Sprintf("%d more paths are deleted outside the workspace", s.more)})
	}
	list = append(list, s.whole...)
	if s.lost >= manyPaths {
		list = append(list, forkbox.Caution{Path: s.root, Why: fmt.Sprintf("%d paths in it are deleted", s.lost)})
	}
	for _, dir := range systemDirs {
		switch t := s.changed[dir]; t.n {
		case 0:
		case 1:
			list = append(list, forkbox.Caution{Path: t.first, Why: "a change of the system, in " + dir + ownedBy(by[t.first])})
		default:
			list = append(list, forkbox.Caution{Path: dir, Why: fmt.Sprintf("%d changes of the system in it, %s the first", t.n, strings.ToValidUTF8(t.first, "?")) + ownedBy(s.inside(dir, by))})
		}
	}
	return append(list, s.packaged(by)...)
}

func withBelow(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", with 1 path below"
	}
	return fmt.Sprintf(", with %d paths below", n)
}

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
