package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/rules"
	"github.com/forkbox/forkbox/internal/spelling"
	"github.com/forkbox/forkbox/internal/strictyaml"
)

// page is a file of YAML that is read key by key, so that whatever is not
// understood is an error with its line.
type page struct{ file string }

func (p page) malformed(at *yaml.Node, format string, args ...any) *forkbox.Error {
	return forkbox.Errorf(forkbox.Invalid, "read "+p.file, "%w", &strictyaml.Fault{Line: at.Line, Why: fmt.Sprintf(format, args...)})
}

// parse returns the page's topmost value, nil if there is nothing in it.
func (p page) parse(text []byte) (*yaml.Node, error) {
	top, fault := strictyaml.Document(text)
	if fault != nil {
		return nil, p.faulty(fault)
	}
	if top == nil || top.ShortTag() == "!!null" {
		return nil, nil
	}
	return top, nil
}

func (p page) faulty(f *strictyaml.Fault) error {
	return p.malformed(&yaml.Node{Line: f.Line}, "%s", f.Why)
}

// field reads the value of a key.
type field func(value *yaml.Node) error

// fields reads a mapping that has no other keys than these.
func (p page) fields(n *yaml.Node, known map[string]field) error {
	return p.entries(n, func(key, value *yaml.Node) error {
		read, ok := known[key.Value]
		if !ok {
			return p.unknown(key, slices.Sorted(maps.Keys(known)))
		}
		return read(value)
	})
}

func (p page) unknown(key *yaml.Node, known []string) error {
	err := p.malformed(key, "%q is not something it knows", key.Value)
	if near := spelling.Nearest(key.Value, known); near != "" {
		err.Hint("did you mean %s?", near)
	}
	return err.Hint("the keys here are %s", strings.Join(known, ", "))
}

// entries calls each for what is in a mapping; no value at all is an empty one.
// A key that is an alias is no plain word.
func (p page) entries(n *yaml.Node, each func(key, value *yaml.Node) error) error {
	if strictyaml.IsNull(n) {
		return nil
	}
	if !strictyaml.IsMapping(n) {
		return p.faulty(strictyaml.NoMapping(n))
	}
	asWritten := func(key *yaml.Node) (*yaml.Node, bool) { return key, true }
	for x, fault := range strictyaml.Pairs(n, asWritten) {
		if fault != nil {
			return p.faulty(fault)
		}
		if err := each(x.Key, x.Value); err != nil {
			return err
		}
	}
	return nil
}

// items calls each for what is in a list; no value at all is an empty one.
func (p page) items(n *yaml.Node, key string, each func(item *yaml.Node, text string) error) error {
	if strictyaml.IsNull(n) {
		return nil
	}
	if !strictyaml.IsList(n) {
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

// text is a plain value as it was written. Aliases are refused: a policy needs
// none, and a few lines of them can stand for gigabytes.
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
