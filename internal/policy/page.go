package policy

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/rules"
)

// page is a file of YAML that is read key by key, so that whatever is not
// understood is an error with its line.
type page struct{ file string }

func (p page) malformed(at *yaml.Node, format string, args ...any) *forkbox.Error {
	err := forkbox.Errorf(forkbox.Invalid, "read "+p.file, format, args...)
	if at.Line > 0 {
		err.Why = "line " + itoa(at.Line) + ": " + err.Why
	}
	return err
}

// parse returns the page's topmost value, nil if there is nothing in it.
func (p page) parse(text []byte) (*yaml.Node, error) {
	if err := p.legible(text); err != nil {
		return nil, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, p.noYAML(err)
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		return nil, p.malformed(&second, "a second document begins here")
	case !errors.Is(err, io.EOF):
		return nil, p.noYAML(err)
	}
	if top := doc.Content[0]; top.ShortTag() != "!!null" {
		return top, nil
	}
	return nil, nil
}

// noYAML passes on what the library says, which leaves out the line where it
// is the first.
func (p page) noYAML(err error) error {
	why := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.HasPrefix(why, "line ") {
		return p.malformed(&yaml.Node{}, "%s", why)
	}
	return p.malformed(&yaml.Node{Line: 1}, "%s", why)
}

// legible finds what is no text, for which the library has no line at all.
func (p page) legible(text []byte) error {
	line := 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n':
			line++
		case r == utf8.RuneError, unicode.IsControl(r) && r != '\t' && r != '\r', r == 0xFFFE || r == 0xFFFF:
			return p.malformed(&yaml.Node{Line: line}, "%q is no text", text[:size])
		}
		text = text[size:]
	}
	return nil
}

// field reads the value of a key.
type field func(value *yaml.Node) error

// fields reads a mapping that has no other keys than these.
func (p page) fields(n *yaml.Node, known map[string]field) error {
	return p.entries(n, func(key, value *yaml.Node) error {
		read, ok := known[key.Value]
		if !ok {
			return p.malformed(key, "%q is not something it knows", key.Value).
				Hint("the keys here are %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		return read(value)
	})
}

// entries calls each for what is in a mapping; no value at all is an empty one.
// The library would let a key be there twice; people then read the one and the
// program the other.
func (p page) entries(n *yaml.Node, each func(key, value *yaml.Node) error) error {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		return p.malformed(n, "there should be \"key: value\" lines")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode:
			return p.malformed(key, "a key is a plain word")
		case seen[key.Value]:
			return p.malformed(key, "%q is there twice", key.Value)
		}
		seen[key.Value] = true
		if err := each(key, value); err != nil {
			return err
		}
	}
	return nil
}

// items calls each for what is in a list; no value at all is an empty one.
func (p page) items(n *yaml.Node, key string, each func(item *yaml.Node, text string) error) error {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode || n.ShortTag() != "!!seq" {
		return p.malformed(n, "%s: there should be a list", key).Hint("[one, another], or a line with \"- \" for each")
	}
	if len(n.Content) > rules.MostRules {
		return p.malformed(n, "%s: there are %d, and %d is the most", key, len(n.Content), rules.MostRules)
	}
	for _, item := range n.Content {
		text, err := p.text(item)
		if err != nil {
			return err
		}
		if err := each(item, text); err != nil {
			return err
		}
	}
	return nil
}

// text is a plain value as it was written. Aliases are refused: no file needs
// them here, and a few lines of them can stand for gigabytes.
func (p page) text(n *yaml.Node) (string, error) {
	if n.Kind == yaml.AliasNode {
		return "", p.malformed(n, "an alias (*%s) is not taken here", n.Value)
	}
	if n.Kind != yaml.ScalarNode {
		return "", p.malformed(n, "there should be a single value")
	}
	switch n.ShortTag() {
	case "!!str", "!!int", "!!float":
		return n.Value, nil
	case "!!null":
		return "", p.malformed(n, "there is no value")
	}
	return "", p.malformed(n, "%q is no value for it", n.Value)
}

// at says where in the file a value was refused, in the words of who refused it.
func (p page) at(n *yaml.Node, key string, err error) error {
	var bad *forkbox.Error
	if !errors.As(err, &bad) {
		return p.malformed(n, "%s: %v", key, err)
	}
	e := p.malformed(n, "%s: %s", key, bad.Why)
	e.Hints = bad.Hints
	return e
}
