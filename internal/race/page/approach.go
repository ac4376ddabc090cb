package page

import (
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
)

// section is all about one approach.
type section struct {
	ID, Name string
	Winner   bool
	Outcome  string
	Tone     string
	Facts    []fact
	Prompt   string
	Steps    []step
	MoreRuns int // steps that are not listed
	Risks    []risk
	MoreRisk int
	Diff     diff
}

// step is a command and how it ended.
type step struct{ Name, End, Tone string }

type risk struct{ Path, Why string }

// sectionID is made from the place of an approach and not from its name, which
// could be anything.
func sectionID(entry int) string { return fmt.Sprintf("approach-%d", entry+1) }

func sections(p Page) (list []section) {
	budget := newBudget(len(p.Race.Entries))
	for i, e := range p.Race.Entries {
		s := section{
			ID: sectionID(i), Name: short(e.Name, mostName), Winner: e.Name == p.Race.Winner && e.Name != "",
			Outcome: outcomeCell(e).Text, Tone: tone(e.Outcome),
			Facts: entryFacts(e), Prompt: prompt(p.Race.Spec, e.Name),
			Diff: newDiff(p, e, budget),
		}
		s.Steps, s.MoreRuns = steps(e.Steps)
		s.Risks, s.MoreRisk = risks(e.Risks)
		list = append(list, s)
	}
	return list
}

func entryFacts(e forkbox.Entry) []fact {
	var ties []string
	for _, name := range e.Ties {
		ties = append(ties, short(name, mostName))
	}
	list := []fact{
		{"Why", long(e.Why, mostReason)},
		{"Why not better", short(e.Reason, mostReason)},
		{"Ties with", short(strings.Join(ties, ", "), mostReason)},
		{"Box", short(e.BoxName, mostName)},
	}
	for _, m := range e.Metrics[:min(len(e.Metrics), forkbox.MostCommands)] {
		list = append(list, fact{"No value of " + short(m.Name, 60), short(m.Why, mostReason)})
	}
	return known(list)
}

// prompt is what an agent was asked.
func prompt(spec forkbox.RaceSpec, approach string) string {
	for _, a := range spec.Approaches {
		if a.Name == approach {
			return long(a.Prompt, mostPrompt)
		}
	}
	return ""
}

func steps(ran []forkbox.Ran) (list []step, more int) {
	for i, r := range ran {
		if i == mostNotes {
			return list, len(ran) - i
		}
		end, tone := ending(r)
		list = append(list, step{Name: short(r.Name, 300), End: end, Tone: tone})
	}
	return list, 0
}

// ending is how a command ended, in a few words.
func ending(r forkbox.Ran) (text, tone string) {
	switch {
	case r.Exit == nil:
		return "running", "none"
	case r.Exit.Cause == forkbox.CauseExited && r.Exit.Code == 0:
		return "done in " + duration(r.Took), "good"
	case r.Exit.Cause == forkbox.CauseExited:
		return fmt.Sprintf("exit %d after %s", r.Exit.Code, duration(r.Took)), "bad"
	}
	text = short(string(r.Exit.Cause), mostName)
	if r.Exit.Why != "" {
		text += ": " + short(r.Exit.Why, mostReason)
	}
	return text, "bad"
}

func risks(all []forkbox.Caution) (list []risk, more int) {
	for i, c := range all {
		if i == mostNotes {
			return list, len(all) - i
		}
		list = append(list, risk{Path: short(c.Path, mostPath), Why: short(c.Why, mostReason)})
	}
	return list, 0
}
