package racefile

import (
	"bytes"
	"errors"
	"io"
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

// page is a file that is read key by key. It does not stop at the first mistake:
// whoever wrote it hears of all of them.
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
