package racefile

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
)

// file is what is written, before it is a race.
type file struct {
	spec    forkbox.RaceSpec
	entries []entry
	agent   string
	env     forkbox.Strings
	terms   terms
	n       int
	breaks  []forkbox.TieBreak
}

// Parse reads a race. Its error has all that is wrong, each as "race.yaml:12: …";
// what it returns has passed [forkbox.RaceSpec.Check].
func Parse(name string, data []byte) (forkbox.RaceSpec, error) {
	p := &page{file: name, lines: map[string]int{}}
	top := p.parse(data)
	if top == nil {
		return forkbox.RaceSpec{}, p.err()
	}
	f := &file{}
	if p.mapping(top, "", p.topFields(f)) {
		spec, origin := p.race(f)
		p.takeCheck(spec.Check(), origin)
		f.spec = spec
	}
	if err := p.err(); err != nil {
		return forkbox.RaceSpec{}, err
	}
	return f.spec, nil
}

func (p *page) topFields(f *file) map[string]field {
	s := &f.spec
	return map[string]field{
		"name": p.text(&s.Name), "from": p.text(&s.Start.From), "template": p.text(&s.Start.Template), "with": p.with(&s.Start.With),
		"setup": p.commands(&s.Setup), "agent": p.text(&f.agent), "env": p.env(&f.env), "n": whole(p, &f.n, 1),
		"approaches": p.list(p.approach(&f.entries)), "checks": p.list(p.check(&s.Checks)), "metrics": p.list(p.metric(&s.Metrics)),
		"protect": p.protect(&s.Protect), "tie_breaks": p.tieBreaks(&f.breaks), "stop": oneOf(p, &s.Stop, forkbox.StopAll, forkbox.StopFirstPass, forkbox.StopDeadline),
		"deadline": p.span(&s.Deadline), "timeout": p.span(&s.Timeout), "parallel": whole(p, &s.Parallel, 0),
		"retries": whole(p, &s.Retries, 0), "seed": whole(p, &s.Seed, -1<<63),
		"policy": p.policy(&f.terms, map[string]field{"preset": oneOf(p, &f.terms.preset, forkbox.PresetLocked, forkbox.PresetBalanced, forkbox.PresetOpen)}),
	}
}

// list reads each of a list.
func (p *page) list(each field) field {
	return func(n *yaml.Node, at string) { p.items(n, at, false, each) }
}

// with reads names of services, or ports.
func (p *page) with(into *[]string) field {
	return func(n *yaml.Node, at string) {
		p.items(n, at, true, func(item *yaml.Node, place string) {
			if text, ok := p.word(item, place); ok {
				*into = append(*into, text)
			}
		})
	}
}

// protect: an empty list protects nothing, and would be taken for nothing said.
func (p *page) protect(into *forkbox.Strings) field {
	return func(n *yaml.Node, at string) {
		before := len(p.faults)
		p.items(n, at, true, func(item *yaml.Node, place string) {
			if text, ok := p.word(item, place); ok {
				*into = append(*into, text)
			}
		})
		if len(*into) == 0 && len(p.faults) == before {
			*into = forkbox.Strings{forkbox.NoProtect}
		}
	}
}

// tieBreaks: an empty list would be taken for nothing said.
func (p *page) tieBreaks(into *[]forkbox.TieBreak) field {
	return func(n *yaml.Node, at string) {
		before := len(p.faults)
		p.items(n, at, true, func(item *yaml.Node, place string) {
			var t forkbox.TieBreak
			oneOf(p, &t, forkbox.SmallerDiff, forkbox.FewerFiles, forkbox.Faster, forkbox.NoTieBreak)(item, place)
			*into = append(*into, t)
		})
		if len(*into) == 0 && len(p.faults) == before {
			p.fault(n.Line, at, "there are none").hint("tie_breaks: none has those tie whom checks and metrics do not tell apart")
		}
	}
}

// race puts the parts together.
func (p *page) race(f *file) (spec forkbox.RaceSpec, origin []int) {
	spec = f.spec
	spec.TieBreaks = f.breaks
	spec.Start.Wish.Limits = f.terms.limits
	spec.Start.Net, spec.Start.NetWish.Preset, spec.Start.NetWish.Rules = f.terms.net, f.terms.preset, f.terms.rules
	// Who gives rules wants them to hold. A box that is made of another has that
	// one's network if nothing is said.
	if ruled := f.terms.preset != "" || len(f.terms.rules) > 0; ruled && spec.Start.Net == "" && spec.Start.From == "" && spec.Start.Template == "" {
		spec.Start.Net = string(forkbox.NetPolicy)
	}
	for i := range spec.Setup {
		spec.Setup[i].Env = slices.Concat(f.env, spec.Setup[i].Env)
	}
	for _, moved := range [][2]string{{"from", "start.from"}, {"template", "start.template"}, {"policy.limits", "start.wish.limits"},
		{"policy.net", "start.net"}} {
		if line, ok := p.lines[moved[0]]; ok {
			p.lines[moved[1]] = line
		}
	}
	spec.Approaches, origin = p.approaches(f)
	return spec, origin
}
