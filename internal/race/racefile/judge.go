package racefile

import (
	"maps"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/strictyaml"
)

// check is one that must pass, unless it only scores: because that was said, or
// because it has a score and nothing was said.
func (p *page) check(into *[]forkbox.RaceCheck) field {
	return func(n *yaml.Node, at string) {
		var c forkbox.RaceCheck
		must, said := true, false
		known := p.commandFields(&c.Command)
		maps.Copy(known, map[string]field{
			"must":   func(n *yaml.Node, at string) { said = true; p.yes(&must)(n, at) },
			"weight": p.positive(&c.Weight), "of": p.positive(&c.Of), "once": p.yes(&c.Once),
			"score": p.score(&c.Score),
		})
		p.command(&c.Command, n, at, known)
		c.Must = must && (said || c.Score == nil)
		*into = append(*into, c)
	}
}

// positive is a number above zero: zero would be taken for nothing said.
func (p *page) positive(into *float64) field {
	return func(n *yaml.Node, at string) {
		before := len(p.faults)
		if p.number(into, false)(n, at); *into <= 0 && len(p.faults) == before {
			p.fault(n.Line, at, "%v is not above zero", *into)
		}
	}
}

// score is where the number is; nothing said, all that was printed is.
func (p *page) score(into **forkbox.Extract) field {
	return func(n *yaml.Node, at string) {
		*into = &forkbox.Extract{}
		if m, _ := p.real(n, at); !strictyaml.IsNull(m) {
			p.mapping(n, at, p.extractFields(*into))
		}
	}
}

func (p *page) metric(into *[]forkbox.Metric) field {
	return func(n *yaml.Node, at string) {
		var m forkbox.Metric
		var timed forkbox.Command
		better := "lower"
		known := p.commandFields(&m.Command)
		maps.Copy(known, p.extractFields(&m.Extract))
		maps.Copy(known, map[string]field{
			"time": p.time(&timed), "better": oneOf(p, &better, "lower", "higher"), "unit": p.text(&m.Unit),
			"warmup": whole(p, &m.Warmup, 0), "runs": whole(p, &m.Runs, 1), "most": whole(p, &m.Most, 1),
			"budget": p.span(&m.Budget), "tolerance": p.number(&m.Tolerance, true), "may_fail": p.yes(&m.MayFail),
		})
		if real, _ := p.real(n, at); real.Kind != yaml.MappingNode {
			p.fault(n.Line, at, "a metric is not just a command").hint("- {name: build, time: make} measures how long one takes; run: instead of time: reads the number that it prints")
		} else {
			p.mapping(n, at, known)
			p.measured(&m, timed, at)
		}
		m.Higher = better == "higher"
		*into = append(*into, m)
	}
}

// time is the command that is measured.
func (p *page) time(into *forkbox.Command) field {
	return func(n *yaml.Node, at string) {
		if m, _ := p.real(n, at); m.Kind == yaml.SequenceNode {
			p.argv(&into.Argv)(n, at)
		} else {
			p.text(&into.Run)(n, at)
		}
	}
}

// measured has the metric be a time, if that was said.
func (p *page) measured(m *forkbox.Metric, timed forkbox.Command, at string) {
	line, said := p.lines[at+".time"]
	if !said {
		return
	}
	if m.Run != "" || len(m.Argv) > 0 {
		p.fault(line, at+".time", "there is another command as well").hint("time: measures a command, run: reads what it prints")
		return
	}
	m.Time, m.Run, m.Argv = true, timed.Run, timed.Argv
	if m.Unit == "" {
		m.Unit = "s"
	}
}
