package server

import "github.com/forkbox/forkbox"

// briefRace is a race as it is listed, without what its approaches ran and
// printed and how each check went: two hundred races of two hundred approaches
// would be more than anybody asked for.
func briefRace(race forkbox.Race) forkbox.Race {
	race.Spec = briefSpec(race.Spec)
	race.SetupRuns = nil
	entries := make([]forkbox.Entry, len(race.Entries))
	for i, e := range race.Entries {
		e.Steps, e.Checks, e.Metrics, e.Risks, e.Diff.Paths = nil, nil, nil, nil, nil
		entries[i] = e
	}
	race.Entries = entries
	return race
}

// briefSpec has neither commands, prompts and policies, nor the environment.
func briefSpec(spec forkbox.RaceSpec) forkbox.RaceSpec {
	from := spec.Start
	spec.Start = forkbox.RaceStart{From: from.From, Template: from.Template, Dir: from.Dir, Net: from.Net}
	spec.Setup, spec.Checks, spec.Metrics = nil, nil, nil
	approaches := make([]forkbox.Approach, len(spec.Approaches))
	for i, a := range spec.Approaches {
		approaches[i] = forkbox.Approach{Name: a.Name, Steps: []forkbox.Command{}}
	}
	spec.Approaches = approaches
	return spec
}
