package forkbox

import (
	"fmt"
	"path"
	"strings"
)

// checkWords is about names. That of an approach's box is the race's, a dash
// and the approach's, and room for a number: a box's name has 63 letters.
func (s RaceSpec) checkWords(f *raceFaults) {
	const most = 63 - len("-") - len("-99")
	if s.Name != "" {
		f.word("name", s.Name)
		if len(s.Name) >= 12 && strings.Trim(s.Name, "0123456789abcdef") == "" {
			f.add("name", "%q looks like the id of a race", s.Name).hint("use a letter after f, or fewer than 12 characters")
		}
	}
	f.distinct("metrics", s.Metrics)
	seen := map[string]int{}
	for i, a := range s.Approaches {
		at := fmt.Sprintf("approaches[%d].name", i)
		f.word(at, a.Name)
		if first, twice := seen[a.Name]; twice && a.Name != "" {
			f.add(at, "%s is the name of approaches[%d] already", quote(a.Name), first)
		} else if seen[a.Name] = i; len(s.Name)+len(a.Name) > most && len(a.Name) <= mostWord && len(s.Name) <= mostWord {
			f.add(at, "%s is too long for the name of a box", quote(s.Name+"-"+a.Name)).hint("the two names have at most %d characters together", most)
		}
	}
}

// distinct refuses two columns of a table with one name.
func (f *raceFaults) distinct(at string, metrics []Metric) {
	seen := map[string]int{}
	for i, m := range metrics {
		if first, twice := seen[m.Name]; twice && m.Name != "" {
			f.add(fmt.Sprintf("%s[%d].name", at, i), "%s is the name of %s[%d] already", quote(m.Name), at, first)
		} else {
			seen[m.Name] = i
		}
	}
}

// word is a name that can be part of a box's, which is a host's name, too.
func (f *raceFaults) word(at, name string) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
	switch {
	case name == "":
		f.add(at, "there is no name")
	case len(name) > mostWord || name[0] == '-' || strings.Trim(name, letters) != "":
		f.add(at, "%s is no name for it", quote(name)).hint("a name has up to %d lower-case letters, digits and dashes, not a dash first", mostWord)
	case name == "setup" && at != "name":
		f.add(at, "%q is what the box of the setup is called", name).hint("choose another name")
	}
}

func (a Approach) check(f *raceFaults, at string) {
	if len(a.Steps) == 0 {
		f.add(at+".steps", "there are none: it would do nothing").hint("to race against what is there already: run: 'true'")
	}
	f.commands(at+".steps", a.Steps)
	f.env(at+".env", a.Env)
	f.take(at+".limits", a.Limits.Check())
	f.title(at+".net", a.Net, mostTitle)
	f.rules(at+".rules", a.Rules)
	f.title(at+".provider", a.Provider, mostTitle)
	f.text(at+".prompt", a.Prompt, mostArgument)
}

func (f *raceFaults) commands(at string, list []Command) {
	for i, c := range list {
		c.check(f, fmt.Sprintf("%s[%d]", at, i))
	}
}

// check is of a command that must be there.
func (c Command) check(f *raceFaults, at string) {
	switch {
	case strings.TrimSpace(c.Run) == "" && len(c.Argv) == 0:
		f.add(at+".run", "there is no command")
	case c.Run != "" && len(c.Argv) > 0:
		f.add(at+".argv", "there is a line for sh as well, %s", quote(c.Run)).hint("a command is either run or argv")
	case len(c.Argv) > 0 && c.Argv[0] == "":
		f.add(at+".argv", "the program has no name")
	}
	c.checkRest(f, at)
}

func (c Command) checkRest(f *raceFaults, at string) {
	f.title(at+".name", c.Name, mostTitle)
	f.text(at+".run", c.Run, mostArgument)
	if !f.most(at+".argv", len(c.Argv), mostVars) {
		for i, arg := range c.Argv {
			f.text(fmt.Sprintf("%s.argv[%d]", at, i), arg, mostArgument)
		}
	}
	f.place(at+".dir", c.Dir)
	f.env(at+".env", c.Env)
	f.span(at+".timeout", c.Timeout)
}

// place is a path that is absolute, or below the race's directory.
func (f *raceFaults) place(at, p string) {
	f.text(at, p, mostPath)
	if clean := path.Clean(p); clean == ".." || strings.HasPrefix(clean, "../") {
		f.add(at, "%s leads out of the race's directory", quote(p)).hint("an absolute path can be anywhere")
	}
}

func (c RaceCheck) check(f *raceFaults, at string) {
	c.Command.check(f, at)
	if c.MayFail {
		f.add(at+".may_fail", "a check that may fail judges nothing").hint("must: false lets it only score")
	}
	f.figure(at+".weight", c.Weight, 1e6)
	f.figure(at+".of", c.Of, 1e18)
	switch {
	case c.Score != nil:
		c.Score.check(f, at+".score")
	case c.Of != 0:
		f.add(at+".of", "there is no score that could be of %v", c.Of).hint("score: {pattern: 'score: ([0-9.]+)'}")
	}
}

func (m Metric) check(f *raceFaults, at string) {
	reads := strings.TrimSpace(m.Run) == "" && len(m.Argv) == 0
	if reads && !m.Time && m.Extract.File != "" {
		m.checkRest(f, at)
		m.checkReading(f, at)
	} else {
		m.Command.check(f, at)
	}
	if m.Time && m.Extract != (Extract{}) {
		f.add(at+".extract", "a time is measured, not read from anywhere")
	}
	if m.Time && m.Unit != "" && m.Unit != "s" {
		f.add(at+".unit", "times are in seconds, not in %s", quote(m.Unit))
	}
	m.Extract.check(f, at)
	f.title(at+".unit", m.Unit, 20)
	m.checkRuns(f, at)
	f.figure(at+".tolerance", m.Tolerance, 1)
}

// checkReading is of a metric that reads a file which is there already: what
// repeats a command makes no sense for it.
func (m Metric) checkReading(f *raceFaults, at string) {
	if m.Runs > 1 || m.Most > 1 || m.Warmup > 0 || m.Budget > 0 {
		f.add(at+".runs", "without a command there is nothing to repeat")
	}
}

func (m Metric) checkRuns(f *raceFaults, at string) {
	f.count(at+".warmup", m.Warmup, MostRuns)
	f.count(at+".runs", m.Runs, MostRuns)
	f.count(at+".most", m.Most, MostRuns)
	f.span(at+".budget", m.Budget)
	if m.Most > 0 && m.Most < m.Runs {
		f.add(at+".most", "%d is less than the %d runs that there are at least", m.Most, m.Runs)
	}
}
