package forkbox

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// NoTieBreak is the only tie-break of a race that has none: who cannot be told
// apart by checks and metrics share a rank.
const NoTieBreak TieBreak = "none"

// NoProtect is all that a race says of what it protects that protects nothing.
const NoProtect = "none"

// What bounds a race beside what race.go says. A single argument of a program
// has fewer than 128 KiB on Linux, and so has a line for sh.
const (
	mostArgument = 128<<10 - 1
	mostWord     = 40 // bytes of a race's or an approach's name
	mostTitle    = 200
	mostPath     = 4 << 10
	mostPattern  = 4 << 10
	mostVars     = 1000
	mostSpan     = 365 * 24 * time.Hour
	mostFaults   = 50
	// mostRaceText is what all of it has at most, in bytes of JSON: the daemon
	// keeps the records of many races, and reads them again to list them.
	mostRaceText = 1 << 20
)

// Check refuses a race that makes no sense, or is more than a caller can mean.
// All that it finds is in the error's items: their paths say where in the race,
// as in "approaches[2].steps[0].timeout".
func (s RaceSpec) Check() error {
	f := &raceFaults{}
	s.checkSize(f)
	if len(f.items) > 0 {
		return f.err() // before it goes through a million of them
	}
	s.checkWords(f)
	s.checkRules(f)
	s.Start.check(f)
	f.commands("setup", s.Setup)
	for i, a := range s.Approaches {
		a.check(f, fmt.Sprintf("approaches[%d]", i))
	}
	for i, c := range s.Checks {
		c.check(f, fmt.Sprintf("checks[%d]", i))
	}
	for i, m := range s.Metrics {
		m.check(f, fmt.Sprintf("metrics[%d]", i))
	}
	if len(f.items) == 0 {
		s.checkText(f)
	}
	return f.err()
}

// checkText is of a race whose parts are sound each.
func (s RaceSpec) checkText(f *raceFaults) {
	text, err := json.Marshal(s)
	if err != nil {
		f.take("race", err)
	} else if len(text) > mostRaceText {
		f.add("race", "all of it has %d bytes, and %d is the most", len(text), mostRaceText).hint("put long texts into files, and name those")
	}
}

func (s RaceSpec) checkSize(f *raceFaults) {
	if len(s.Approaches) == 0 {
		f.add("approaches", "there is nothing to try").hint("an approach has a name and steps")
	}
	f.most("approaches", len(s.Approaches), MostApproaches)
	f.most("setup", len(s.Setup), MostCommands)
	f.most("checks", len(s.Checks), MostCommands)
	f.most("metrics", len(s.Metrics), MostCommands)
	for i, a := range s.Approaches {
		f.most(fmt.Sprintf("approaches[%d].steps", i), len(a.Steps), MostCommands)
	}
}

// checkRules is what says how the race goes.
func (s RaceSpec) checkRules(f *raceFaults) {
	switch s.Stop {
	case "", StopAll, StopFirstPass:
	case StopDeadline:
		if s.Deadline == 0 {
			f.add("stop", "there is no deadline to stop at").hint("deadline: 10m")
		}
	default:
		f.add("stop", "%q is no rule", cut(string(s.Stop))).hint("a race stops at %s, %s or %s", StopAll, StopFirstPass, StopDeadline)
	}
	f.span("deadline", s.Deadline)
	f.span("timeout", s.Timeout)
	f.count("parallel", s.Parallel, 1<<20)
	f.count("retries", s.Retries, MostRetries)
	f.text("rerun", s.Rerun, mostTitle)
	s.checkTieBreaks(f)
	s.checkProtect(f)
}

// checkProtect refuses patterns that could match nothing, or mean something
// else than they seem to: what is thought to be protected has to be.
func (s RaceSpec) checkProtect(f *raceFaults) {
	if f.most("protect", len(s.Protect), mostVars) {
		return
	}
	for i, p := range s.Protect {
		at := fmt.Sprintf("protect[%d]", i)
		f.place(at, p)
		_, err := path.Match(p, "")
		switch {
		case p == NoProtect && len(s.Protect) > 1:
			f.add(at, "%q leaves no room for others", p).hint("a file of that name is ./%s", p)
		case path.Clean(p) == "." || err != nil:
			f.add(at, "%s is no pattern", quote(p)).hint("a pattern is as in an ignore file: tests/**, *.golden")
		case strings.ContainsAny(p[:1], "/!#"):
			f.add(at, "%s is no pattern for paths in the race's directory", quote(p)).hint("a pattern is as in an ignore file, and begins with none of / ! #")
		case s.Start.Template != "" && p != NoProtect:
			f.add(at, "what a template holds cannot be protected").hint("begin at a snapshot instead: from: BOX@SNAPSHOT")
		}
	}
}

func (s RaceSpec) checkTieBreaks(f *raceFaults) {
	known := []TieBreak{SmallerDiff, FewerFiles, Faster, NoTieBreak}
	if f.most("tie_breaks", len(s.TieBreaks), len(known)) {
		return
	}
	for i, t := range s.TieBreaks {
		at := fmt.Sprintf("tie_breaks[%d]", i)
		switch {
		case !slices.Contains(known, t):
			f.add(at, "%q is no tie-break", cut(string(t))).hint("there are %s, %s, %s and %s", SmallerDiff, FewerFiles, Faster, NoTieBreak)
		case slices.Contains(s.TieBreaks[:i], t):
			f.add(at, "%q is there twice", string(t))
		case t == NoTieBreak && len(s.TieBreaks) > 1:
			f.add(at, "%q leaves no room for others", string(t))
		}
	}
}

// check is of what all boxes begin as. What a name means there is for the
// engine to say, as for any new box.
func (s RaceStart) check(f *raceFaults) {
	if s.From != "" && s.Template != "" {
		f.add("start.template", "boxes cannot begin as %s and as the template %s", quote(s.From), quote(s.Template))
	}
	f.text("start.from", s.From, mostPath)
	f.text("start.template", s.Template, mostTitle)
	f.text("start.net", s.Net, mostTitle)
	if f.text("start.dir", s.Dir, mostPath); s.Dir != "" && s.Dir[0] != '/' {
		f.add("start.dir", "%s is not an absolute path", quote(s.Dir))
	}
	f.env("start.env", s.Env)
	f.env("start.places", s.Places)
	f.most("start.allow_secrets", len(s.AllowSecrets), mostVars)
	f.take("start.net_wish", s.NetWish.Check())
	f.rules("start.net_wish.rules", s.NetWish.Rules)
	f.take("start.services", CheckServices(s.Services))
	f.take("start.wish.limits", s.Wish.Limits.Check())
	f.take("start.wish.project", s.Wish.Project.Check())
}
