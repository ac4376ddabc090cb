package racefile

import (
	"fmt"
	"slices"

	"github.com/forkbox/forkbox"
	"go.yaml.in/yaml/v3"
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

// commands is a list of them; one alone need not be in a list.
func (p *page) commands(into *[]forkbox.Command) field {
	return func(n *yaml.Node, at string) {
		p.items(n, at, true, func(item *yaml.Node, place string) {
			var c forkbox.Command
			known := p.commandFields(&c)
			known["may_fail"] = p.yes(&c.MayFail)
			p.command(&c, item, place, known)
			*into = append(*into, c)
		})
	}
}

// command is a line for sh, a list that is a program with its arguments, or
// "key: value" lines.
func (p *page) command(into *forkbox.Command, n *yaml.Node, at string, known map[string]field) {
	p.lines[at] = n.Line
	switch n, _ = p.real(n, at); n.Kind {
	case yaml.SequenceNode:
		p.argv(&into.Argv)(n, at+".argv")
	case yaml.MappingNode:
		p.mapping(n, at, known)
	default:
		p.text(&into.Run)(n, at)
	}
}

func (p *page) commandFields(c *forkbox.Command) map[string]field {
	return map[string]field{
		"name": p.text(&c.Name), "run": p.text(&c.Run), "argv": p.argv(&c.Argv), "dir": p.text(&c.Dir),
		"env": p.env(&c.Env), "timeout": p.span(&c.Timeout),
	}
}

func (p *page) argv(into *forkbox.Strings) field {
	return func(n *yaml.Node, at string) {
		p.items(n, at, false, func(item *yaml.Node, place string) {
			if text, ok := p.word(item, place); ok {
				*into = append(*into, text)
			}
		})
		if len(*into) == 0 {
			p.fault(n.Line, at, "there is no command")
		}
	}
}

// extractFields are where a number is found.
func (p *page) extractFields(x *forkbox.Extract) map[string]field {
	return map[string]field{"pattern": p.text(&x.Pattern), "json": p.text(&x.JSON), "file": p.text(&x.File)}
}
