package racefile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox/internal/spelling"
	"github.com/forkbox/forkbox/internal/strictyaml"
)

// field reads the value of a key into the part of the race that is at.
type field func(value *yaml.Node, at string)

// pair is a key with its value.
type pair struct{ key, value *yaml.Node }

// mapping reads "key: value" lines that have no other keys than these. It says
// whether it was one.
func (p *page) mapping(n *yaml.Node, at string, known map[string]field) bool {
	pairs, ok := p.pairs(n, at)
	for _, x := range pairs {
		read, is := known[x.key.Value]
		if !is {
			p.unknown(x.key, at, slices.Sorted(maps.Keys(known)))
			continue
		}
		place := strings.TrimPrefix(at+"."+x.key.Value, ".")
		p.lines[place] = x.key.Line
		read(x.value, place)
	}
	return ok
}

func (p *page) unknown(key *yaml.Node, at string, known []string) {
	why := fmt.Sprintf("%q is not something it knows", strictyaml.Clip(key.Value))
	if near := spelling.Nearest(key.Value, known); near != "" {
		why += fmt.Sprintf("; is %q meant?", near)
	}
	p.fault(key.Line, at, "%s", why).hint("the keys there are %s", strings.Join(known, ", "))
}

// pairs are what is in a mapping, with what it merges by "<<". Keys may be
// aliases.
func (p *page) pairs(n *yaml.Node, at string) (list []pair, ok bool) {
	if n, ok = p.real(n, at); !ok {
		return nil, false
	}
	if !strictyaml.IsMapping(n) {
		p.faulty(strictyaml.NoMapping(n), at)
		return nil, false
	}
	seen := map[string]bool{}
	var merged []*yaml.Node
	follow := func(key *yaml.Node) (*yaml.Node, bool) { key, ok = p.real(key, at); return key, ok }
	for x, fault := range strictyaml.Pairs(n, follow) {
		switch {
		case fault != nil:
			p.faulty(fault, at)
		case x.IsMerge():
			merged = append(merged, x.Value)
		default:
			seen[x.Key.Value] = true
			list = append(list, pair{x.Key, x.Value})
		}
	}
	if !ok {
		return list, false
	}
	for _, m := range merged {
		list = append(list, p.merge(m, at, seen)...)
	}
	return list, true
}

func (p *page) faulty(f *strictyaml.Fault, at string) { p.fault(f.Line, at, "%s", f.Why) }

// merge are the pairs of a mapping, or of a list of them, whose keys were not
// seen yet. What is merged merges nothing itself.
func (p *page) merge(n *yaml.Node, at string, seen map[string]bool) (list []pair) {
	n, ok := p.real(n, at)
	if !ok {
		return nil
	}
	from := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		from = n.Content
	}
	for _, m := range from {
		if m, ok = p.real(m, at); !ok {
			return nil
		}
		if m.Kind != yaml.MappingNode {
			p.fault(m.Line, at, "only \"key: value\" lines can be merged")
			continue
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			if key := m.Content[i]; !seen[key.Value] && key.Kind == yaml.ScalarNode {
				seen[key.Value] = true
				list = append(list, pair{key, m.Content[i+1]})
			}
		}
	}
	return list
}

// items calls each for what is in a list. A single value is a list of one where
// that makes sense; no value at all is an empty list.
func (p *page) items(n *yaml.Node, at string, single bool, each field) {
	n, ok := p.real(n, at)
	if !ok || strictyaml.IsNull(n) {
		return
	}
	if single && (n.Kind == yaml.ScalarNode || n.Kind == yaml.MappingNode) {
		each(n, at+"[0]")
		return
	}
	if !strictyaml.IsList(n) {
		p.fault(n.Line, at, "there should be a list").hint("a list is [one, another], or a line with \"- \" for each")
		return
	}
	for i, item := range n.Content {
		place := fmt.Sprintf("%s[%d]", at, i)
		p.lines[place] = item.Line
		each(item, place)
	}
}
