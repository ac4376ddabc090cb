package racefile

import (
	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
)

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
