package racefile

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/strictyaml"
)

// terms is what holds for boxes: of the whole race, or of one approach.
type terms struct {
	limits forkbox.Limits
	net    string
	preset string
	rules  []string
}

// policy reads them. Rules are in the order in which they are written: the first
// that matches decides.
func (p *page) policy(into *terms, known map[string]field) field {
	known["limits"] = p.limits(&into.limits)
	known["net"] = p.net(&into.net)
	known["allow"] = p.rules("allow", &into.rules)
	known["deny"] = p.rules("deny", &into.rules)
	return func(n *yaml.Node, at string) {
		if m, _ := p.real(n, at); !strictyaml.IsNull(m) {
			p.mapping(n, at, known)
		}
	}
}

func (p *page) limits(into *forkbox.Limits) field {
	return func(n *yaml.Node, at string) {
		m, _ := p.real(n, at)
		if strictyaml.IsNull(m) {
			return
		}
		*into = forkbox.Limits{}
		pairs, _ := p.pairs(n, at)
		for _, x := range pairs {
			p.limit(*into, x, at)
		}
	}
}

func (p *page) limit(into forkbox.Limits, x pair, at string) {
	r := forkbox.Resource(x.key.Value)
	if !r.Known() {
		known := make([]string, len(forkbox.Resources))
		for i, r := range forkbox.Resources {
			known[i] = string(r)
		}
		p.unknown(x.key, at, known)
		return
	}
	text, ok := p.word(x.value, at+"."+x.key.Value)
	if !ok {
		return
	}
	v, err := forkbox.ParseLimit(r, text)
	if err != nil {
		p.take(x.value.Line, at+"."+x.key.Value, err)
		return
	}
	into[r] = v
}

// net is none, policy or a team. A file cannot give boxes the host's own
// network: that is for a user to type who knows what it means.
func (p *page) net(into *string) field {
	return func(n *yaml.Node, at string) {
		text, ok := p.word(n, at)
		switch {
		case !ok:
		case text == string(forkbox.NetHost):
			p.fault(n.Line, at, "a file cannot give boxes the host's network").hint("--net host gives it to all boxes of a race")
		case text == forkbox.PresetLocked || text == forkbox.PresetBalanced || text == forkbox.PresetOpen:
			p.fault(n.Line, at, "%s is a preset, not a network", text).hint("policy: {net: policy, preset: %s}", text)
		default:
			*into = text
		}
	}
}

func (p *page) rules(verb string, into *[]string) field {
	return func(n *yaml.Node, at string) {
		base := strings.TrimSuffix(at, "policy."+verb) + "rules"
		if base == "rules" {
			base = "start.net_wish.rules"
		}
		p.items(n, at, true, func(item *yaml.Node, place string) {
			if text, ok := p.word(item, place); ok {
				p.lines[fmt.Sprintf("%s[%d]", base, len(*into))] = item.Line
				*into = append(*into, verb+" "+text)
			}
		})
	}
}
