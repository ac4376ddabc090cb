package scope

import (
	"path"
	"strings"

	"github.com/forkbox/forkbox"
)

// ignoreNames are the ignore files of a directory. The later one wins, so
// that .forkboxignore can bring back what .gitignore names.
var ignoreNames = [2]string{".gitignore", ".forkboxignore"}

// view says whose ignore files count.
type view int

const (
	real  view = iota // reality's only
	boxed             // those of the box too; for what the box added
	views
)

// level is a directory on the way from the root to the path asked for.
type level struct {
	dir      string
	rules    [views][]rule
	excluded [views]bool // the directory, or one that it lies in, is ignored
}

// ignores answers whether paths below root are ignored. It keeps the rules of
// the directories on the way to the last path and no others: changes come in
// path order, so what was left does not come again.
type ignores struct {
	root   string
	global []rule // for all of the tree, and weaker than what is in it
	levels []level
	load   func(dir string) [views][]rule
	left   func(dir string) // told of directories that are done with
}

// ignored says whether p, below the root, is ignored. As in git, nothing
// brings back what lies in an ignored directory.
func (g *ignores) ignored(p string, dir bool, v view) bool {
	g.enter(path.Dir(p))
	return g.levels[len(g.levels)-1].excluded[v] || g.matched(p, dir, v)
}

// inIgnored says whether the directory p, the root or below it, is ignored.
func (g *ignores) inIgnored(p string, v view) bool {
	g.enter(p)
	return g.levels[len(g.levels)-1].excluded[v]
}

// enter makes dir the last of the levels.
func (g *ignores) enter(dir string) {
	n := len(g.levels)
	for n > 0 && !forkbox.Within(dir, g.levels[n-1].dir) {
		n--
		g.left(g.levels[n].dir)
	}
	g.levels = g.levels[:n]
	if n == 0 {
		g.push(g.root)
	}
	for at := g.levels[len(g.levels)-1].dir; at != dir; {
		name, _, _ := strings.Cut(dir[len(at)+1:], "/")
		at = dir[:len(at)+1+len(name)]
		g.push(at)
	}
}

// push adds a level. The files of a directory that is ignored in both views are
// not read: nothing that they say can matter.
func (g *ignores) push(dir string) {
	next := level{dir: dir}
	if n := len(g.levels); n > 0 {
		for v := range views {
			next.excluded[v] = g.levels[n-1].excluded[v] || g.matched(dir, true, v)
		}
	}
	if !next.excluded[real] || !next.excluded[boxed] {
		next.rules = g.load(dir)
	}
	g.levels = append(g.levels, next)
}

// matched finds the rule that decides about p: the last one of the deepest
// file that has one.
func (g *ignores) matched(p string, dir bool, v view) bool {
	base := path.Base(p)
	for i := len(g.levels) - 1; i >= 0; i-- {
		at := &g.levels[i]
		if r := lastMatch(at.rules[v], p[len(at.dir)+1:], base, dir); r != nil {
			return !r.negated
		}
	}
	r := lastMatch(g.global, p[len(g.root)+1:], base, dir)
	return r != nil && !r.negated
}

func lastMatch(rules []rule, rel, base string, dir bool) *rule {
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].match(rel, base, dir) {
			return &rules[i]
		}
	}
	return nil
}

// forget drops dir and all below it, to be read again when needed.
func (g *ignores) forget(dir string) {
	for n := len(g.levels); n > 0 && forkbox.Within(g.levels[n-1].dir, dir); n-- {
		g.levels = g.levels[:n-1]
	}
}
