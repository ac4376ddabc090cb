package racefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// What bounds a file. Aliases let a few lines stand for gigabytes: what is read
// through them counts each time.
const (
	mostBytes = 1 << 20
	mostNodes = 200_000
	mostText  = 8 << 20
)

// page is a file that is read key by key. It does not stop at the first
// mistake: its author hears of all of them.
type page struct {
	file   string
	faults []fault
	hints  []string
	lines  map[string]int // where a part of the race is written, by its place
	nodes  int            // read so far
	bytes  int
}

// parse returns the page's topmost value, nil if there is none to read.
func (p *page) parse(text []byte) *yaml.Node {
	if len(text) > mostBytes {
		p.fault(0, "", "it has %d bytes, and %d is the most", len(text), mostBytes)
		return nil
	}
	if !p.legible(text) {
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		p.fault(1, "", "there is nothing in it")
		return nil
	} else if err != nil {
		p.noYAML(err)
		return nil
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		p.fault(second.Line, "", "a second document begins here")
	case !errors.Is(err, io.EOF):
		p.noYAML(err)
	}
	return doc.Content[0]
}

// noYAML passes on what the library says, which leaves out the line where it is
// the first.
func (p *page) noYAML(err error) {
	why, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if rest, ok := strings.CutPrefix(why, "line "); ok {
		number, words, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			line, why = n, words
		}
	}
	p.fault(line, "", "%s", why)
}

// legible finds what is no text, for which the library has no line.
func (p *page) legible(text []byte) bool {
	line := 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n':
			line++
		case r == utf8.RuneError && size == 1, unicode.IsControl(r) && r != '\t' && r != '\r', r == 0xFFFE || r == 0xFFFF:
			p.fault(line, "", "%q is no text", text[:size])
			return false
		}
		text = text[size:]
	}
	return true
}

// real follows an alias, and counts.
func (p *page) real(n *yaml.Node, at string) (*yaml.Node, bool) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	p.nodes++
	p.bytes += len(n.Value)
	if p.nodes == mostNodes+1 || p.bytes > mostText && p.bytes-len(n.Value) <= mostText {
		p.fault(n.Line, at, "with its aliases the file is too large")
	}
	return n, p.nodes <= mostNodes && p.bytes <= mostText
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

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
	why := fmt.Sprintf("%q is not something it knows", clip(key.Value))
	if near := nearest(key.Value, known); near != "" {
		why += fmt.Sprintf("; is %q meant?", near)
	}
	p.fault(key.Line, at, "%s", why).hint("the keys there are %s", strings.Join(known, ", "))
}

// pairs are what is in a mapping, with what it merges by "<<". The library would
// let a key be there twice; people then read the one and the program the other.
func (p *page) pairs(n *yaml.Node, at string) (list []pair, ok bool) {
	n, ok = p.real(n, at)
	if !ok || n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		if ok {
			p.fault(n.Line, at, "there should be \"key: value\" lines")
		}
		return nil, false
	}
	seen := map[string]bool{}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, ok := p.real(n.Content[i], at)
		switch {
		case !ok:
			return list, false
		case key.Kind != yaml.ScalarNode:
			p.fault(key.Line, at, "a key is a plain word")
		case key.ShortTag() == "!!merge":
			merged = append(merged, n.Content[i+1])
		case seen[key.Value]:
			p.fault(key.Line, at, "%q is there twice", clip(key.Value))
		default:
			seen[key.Value] = true
			list = append(list, pair{key, n.Content[i+1]})
		}
	}
	for _, m := range merged {
		list = append(list, p.merge(m, at, seen)...)
	}
	return list, true
}

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
	if !ok || isNull(n) {
		return
	}
	if single && (n.Kind == yaml.ScalarNode || n.Kind == yaml.MappingNode) {
		each(n, at+"[0]")
		return
	}
	if n.Kind != yaml.SequenceNode || n.ShortTag() != "!!seq" {
		p.fault(n.Line, at, "there should be a list").hint("a list is [one, another], or a line with \"- \" for each")
		return
	}
	for i, item := range n.Content {
		place := fmt.Sprintf("%s[%d]", at, i)
		p.lines[place] = item.Line
		each(item, place)
	}
}

func clip(text string) string {
	const most = 60
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
