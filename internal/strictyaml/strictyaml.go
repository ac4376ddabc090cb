// Package strictyaml reads YAML that people write, so that whatever is not
// understood is a fault with its line: what is no text, a second document, a key
// that is there twice. What keys there may be, and whether aliases are followed,
// its callers say.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Fault is something wrong in a file.
type Fault struct {
	Line int // 0 where it is of no line
	Why  string
}

// Error has a fault be what other errors wrap, so that who shows them can ask
// for the line.
func (f *Fault) Error() string {
	if f.Line == 0 {
		return f.Why
	}
	return "line " + strconv.Itoa(f.Line) + ": " + f.Why
}

func faultAt(line int, format string, args ...any) *Fault {
	return &Fault{line, fmt.Sprintf(format, args...)}
}

// Document is the topmost value of a file, nil if there is nothing in it. With a
// fault there may still be one: what is before a second document can be read.
func Document(text []byte) (*yaml.Node, *Fault) {
	if fault := illegible(text); fault != nil {
		return nil, fault
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, noYAML(err)
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		return doc.Content[0], faultAt(second.Line, "a second document begins here")
	case !errors.Is(err, io.EOF):
		return doc.Content[0], noYAML(err)
	}
	return doc.Content[0], nil
}

// noYAML passes on what the library says, which leaves out the line where it is
// the first.
func noYAML(err error) *Fault {
	why := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(why, "line "); ok {
		number, words, _ := strings.Cut(rest, ": ")
		if line, err := strconv.Atoi(number); err == nil {
			return &Fault{line, words}
		}
	}
	return &Fault{1, why}
}

// illegible finds what is no text, for which the library has no line.
func illegible(text []byte) *Fault {
	line := 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n':
			line++
		case r == utf8.RuneError && size == 1, unicode.IsControl(r) && r != '\t' && r != '\r', r == 0xFFFE || r == 0xFFFF:
			return faultAt(line, "%q is no text", text[:size])
		}
		text = text[size:]
	}
	return nil
}

// IsNull says whether there is no value.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// IsMapping says whether a value is "key: value" lines.
func IsMapping(n *yaml.Node) bool { return n.Kind == yaml.MappingNode && n.ShortTag() == "!!map" }

// IsList says whether a value is a list.
func IsList(n *yaml.Node) bool { return n.Kind == yaml.SequenceNode && n.ShortTag() == "!!seq" }

// NoMapping is the fault of a value that should be a mapping.
func NoMapping(n *yaml.Node) *Fault { return faultAt(n.Line, "there should be \"key: value\" lines") }

// Pair is a key with its value.
type Pair struct{ Key, Value *yaml.Node }

// IsMerge says whether the pair stands for those of other mappings ("<<").
func (p Pair) IsMerge() bool { return p.Key.ShortTag() == "!!merge" }

// Pairs are what is in a mapping, or what is wrong with it, in its order. The
// library would let a key be there twice; people then read the one and the
// program the other. follow is what a key stands for; false ends the reading.
func Pairs(n *yaml.Node, follow func(*yaml.Node) (*yaml.Node, bool)) iter.Seq2[Pair, *Fault] {
	return func(yield func(Pair, *Fault) bool) {
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, ok := follow(n.Content[i])
			if !ok {
				return
			}
			pair := Pair{key, n.Content[i+1]}
			var fault *Fault
			switch {
			case key.Kind != yaml.ScalarNode:
				fault = faultAt(key.Line, "a key is a plain word")
			case seen[key.Value] && !pair.IsMerge():
				fault = faultAt(key.Line, "%q is there twice", Clip(key.Value))
			}
			seen[key.Value] = true
			if !yield(pair, fault) {
				return
			}
		}
	}
}

// Clip is a text of a file, short enough for an error.
func Clip(text string) string {
	const most = 60
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
