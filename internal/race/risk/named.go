package risk

import (
	"path"
	"strings"

	"github.com/forkbox/forkbox"
)

// mostNamed bounds what is remembered of commands, which somebody else wrote.
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
