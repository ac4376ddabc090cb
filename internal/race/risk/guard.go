package risk

import (
	"path"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/scope"
)

// Guard finds, among the changes of an approach, those of what it is judged by,
// and is to be judged with as that was before: the tests and scripts that checks
// and metrics name, and what the race protects. What a check names otherwise may
// be the very thing that approaches are to change: "python3 main.py | grep ok".
type Guard struct {
	notes Notes
	own   named // what is named and judges, by what it is called
	also  []string
	match func(rel string) bool // also
}

// NewGuard is that of a race in dir; nil for one that protects nothing.
func NewGuard(spec forkbox.RaceSpec, root, dir string) *Guard {
	if slices.Equal(spec.Protect, forkbox.Strings{forkbox.NoProtect}) || spec.Start.Template != "" {
		return nil // what a template holds is not told from what approaches change
	}
	g := &Guard{notes: Notes{Root: root, Dir: dir}, own: named{}, also: spec.Protect, match: scope.Patterns(spec.Protect)}
	g.notes.named = namedBy(dir, JudgesOf(spec))
	for p := range g.notes.named {
		if at := g.notes.place(p); isTest(at) || isJudge(at) {
			g.own[p] = true
		}
	}
	return g
}

// Lists says whether the race names what it protects: that may be anywhere in
// its directory.
func (g *Guard) Lists() bool { return g != nil && len(g.also) > 0 }

// Guards says whether a change is one of what judges.
func (g *Guard) Guards(c forkbox.Change) bool {
	if g == nil {
		return false
	}
	if g.guards(c, c.Path, c.Kind == forkbox.Type || c.Kind == forkbox.Deleted && c.Type == "dir") {
		return true
	}
	return c.Kind == forkbox.Renamed && c.From != "" && g.guards(c, c.From, c.Type == "dir")
}

// guards is about one of the places of a change. goes says that what was below
// it is not there any more.
func (g *Guard) guards(c forkbox.Change, p string, goes bool) bool {
	if forkbox.Within(p, g.notes.Dir) && p != g.notes.Dir {
		rel := strings.TrimPrefix(p[len(g.notes.Dir):], "/")
		if g.match(rel) || goes && g.mayHold(rel) {
			return true
		}
	}
	switch {
	case c.Kind == forkbox.Added, c.Kind == forkbox.Renamed && p == c.Path, c.Scope == forkbox.Noise:
		return false // its own; or what is built, and not what judges
	case g.own.judges(p, goes):
		return true
	}
	return isTest(g.notes.place(p)) && g.notes.judge(p, goes)
}

// mayHold says whether a pattern may mean something below a directory. What that
// held is not known here, so one with a wildcard may.
func (g *Guard) mayHold(dir string) bool {
	return slices.ContainsFunc(g.also, func(p string) bool {
		p = path.Clean(p)
		if wild := strings.IndexAny(p, `*?[\`); wild >= 0 {
			p = p[:wild]
			return !strings.Contains(p, "/") || strings.HasPrefix(p, dir+"/") || strings.HasPrefix(dir+"/", p)
		}
		return strings.HasPrefix(p, dir+"/")
	})
}

// isJudge goes by what scripts are called that judge: check.sh, run-bench.py.
func isJudge(p place) bool {
	stem := strings.TrimSuffix(p.base, path.Ext(p.base))
	words := strings.FieldsFunc(stem, func(r rune) bool { return strings.ContainsRune("-_.", r) })
	return slices.ContainsFunc(words, func(w string) bool {
		switch strings.TrimSuffix(w, "s") {
		case "test", "check", "checker", "verify", "validate", "judge", "score", "grade", "bench", "benchmark", "spec", "e2e", "smoke":
			return true
		}
		return false
	})
}

// mostNamed bounds what is remembered of commands, which the race's author
// wrote.
const mostNamed = 10000

// named are the paths that commands name. Which of their words are paths cannot
// be told, so each is taken for one: what is not there is never changed.
type named map[string]bool

func namedBy(dir string, commands []forkbox.Command) named {
	all := named{}
	for _, c := range commands {
		at := below(dir, c.Dir)
		all.addLine(at, c.Run)
		for _, arg := range c.Argv { // one may be a line for sh
			all.add(at, arg)
			all.addLine(at, arg)
		}
	}
	return all
}

// addLine takes the words of a line for sh. What follows a cd may be meant from
// there.
func (n named) addLine(dir, line string) {
	for _, quoted := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("'\"`", r) }) {
		n.add(dir, quoted) // a name may have spaces
	}
	dirs, before := []string{dir}, ""
	for _, word := range strings.FieldsFunc(line, isBetween) {
		for _, d := range dirs {
			n.add(d, word)
		}
		if before == "cd" && len(dirs) < 10 {
			dirs = append(dirs, below(dirs[len(dirs)-1], word))
		}
		before = word
	}
}

// isBetween is for what stands between words of a line.
func isBetween(r rune) bool { return strings.ContainsRune(" \t\r\n;&|<>(){}'\"`=", r) }

func (n named) add(dir, word string) {
	if p := below(dir, word); word != "" && p != path.Clean(dir) && len(n) < mostNamed {
		n[p] = true
	}
}

func below(dir, p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(dir, p)
}

// judges says whether a path is named, or a directory in which one that is lies
// and which goes with it.
func (n named) judges(p string, goes bool) bool {
	if n[p] {
		return true
	}
	if !goes {
		return false
	}
	for name := range n {
		if forkbox.Within(name, p) {
			return true
		}
	}
	return false
}

// addJudge is for what the checks and metrics of this race name: an approach can
// pass by changing that. What it adds is its own.
func (n *Notes) addJudge(c forkbox.Change) {
	if n.named == nil {
		n.named = namedBy(n.Dir, n.Judges)
	}
	goes := c.Type == "dir" && c.Kind == forkbox.Deleted || c.Kind == forkbox.Type
	moved := c.Kind == forkbox.Renamed && c.From != "" && n.judge(c.From, c.Type == "dir")
	if c.Kind == forkbox.Added || !moved && !n.judge(c.Path, goes) {
		return
	}
	n.note(judges, c, verb(c)+ofJudge)
}

// judge says whether a path is named, or is a test in a directory that is.
func (n *Notes) judge(p string, goes bool) bool {
	if n.named.judges(p, goes) {
		return true
	}
	if !isTest(n.place(p)) {
		return false
	}
	for dir := path.Dir(p); len(dir) > max(1, len(n.Dir)); dir = path.Dir(dir) {
		if n.named[dir] {
			return true
		}
	}
	return false
}

const ofJudge = " what a check or metric of this race names"

// OfJudges are those notes that are about what judges: such an approach may have
// passed by changing that.
func OfJudges(notes []forkbox.Caution) (list []forkbox.Caution) {
	for _, n := range notes {
		if strings.Contains(n.Why, ofJudge) {
			list = append(list, n)
		}
	}
	return list
}

// JudgesOf are what the checks and metrics of a race run.
func JudgesOf(spec forkbox.RaceSpec) (list []forkbox.Command) {
	for _, c := range spec.Checks {
		list = append(list, c.Command)
	}
	for _, m := range spec.Metrics {
		list = append(list, m.Command)
	}
	return list
}
