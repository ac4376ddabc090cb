package racefile

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
)

// entry is an approach as it is written.
type entry struct {
	forkbox.Approach
	line  int
	run   string
	agent string
	terms terms
	n     int
}

// approach is a line for sh, or "key: value" lines.
func (p *page) approach(into *[]entry) field {
	return func(n *yaml.Node, at string) {
		e := entry{line: n.Line}
		switch m, _ := p.real(n, at); m.Kind {
		case yaml.ScalarNode:
			p.text(&e.run)(n, at)
		default:
			p.mapping(n, at, map[string]field{
				"name": p.text(&e.Name), "run": p.text(&e.run), "steps": p.commands(&e.Steps), "prompt": p.text(&e.Prompt),
				"agent": p.text(&e.agent), "env": p.env(&e.Env), "policy": p.policy(&e.terms, map[string]field{}),
				"provider": p.text(&e.Provider), "n": whole(p, &e.n, 1),
			})
		}
		*into = append(*into, e)
	}
}

// approaches makes of what is written what is tried. origin says for each which
// entry it is from.
func (p *page) approaches(f *file) (list []forkbox.Approach, origin []int) {
	prompts := 0
	for _, e := range f.entries {
		if e.Prompt != "" && e.Name == "" {
			prompts++
		}
	}
	asked := 0
	for i, e := range f.entries {
		at := fmt.Sprintf("approaches[%d]", i)
		if e.Name == "" {
			e.Name = fmt.Sprintf("try-%d", i+1)
			if e.Prompt != "" {
				asked++
				e.Name = agentName(asked, prompts)
			}
		}
		p.steps(&e, f.agent, at)
		e.Env = slices.Concat(f.env, e.Env)
		e.Limits, e.Net, e.Rules = e.terms.limits, e.terms.net, e.terms.rules
		for _, a := range Samples([]forkbox.Approach{e.Approach}, min(max(e.n, f.n, 1), forkbox.MostApproaches+1)) {
			list, origin = append(list, a), append(origin, i)
		}
	}
	return list, origin
}

// steps is what an approach does: what it says in one of three ways.
func (p *page) steps(e *entry, agent, at string) {
	ways := 0
	for _, said := range []bool{e.run != "", len(e.Steps) > 0, e.Prompt != ""} {
		if said {
			ways++
		}
	}
	if e.agent != "" {
		agent = e.agent
	}
	switch {
	case ways > 1:
		p.fault(e.line, at, "it has more than one of run, steps and prompt")
	case ways == 0 && p.unread(at):
	case ways == 0:
		p.fault(e.line, at, "it does nothing").hint("an approach has run, steps or prompt; to race against what is there already: run: 'true'")
	case e.run != "":
		e.Steps = []forkbox.Command{{Run: e.run}}
	case e.Prompt != "" && agent == "":
		p.fault(p.line(at+".prompt"), at+".prompt", "there is no agent to ask").hint("agent: claude -p {prompt}")
	case e.Prompt != "":
		e.Approach = asked(e.Approach, agent)
	}
	if e.agent != "" && e.Prompt == "" {
		p.fault(p.line(at+".agent"), at+".agent", "there is no prompt for it")
	}
}
