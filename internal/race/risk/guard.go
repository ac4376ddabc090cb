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
