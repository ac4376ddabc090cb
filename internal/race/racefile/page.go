package racefile

import (
	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox/internal/strictyaml"
)

// What bounds a file. Aliases let a few lines stand for gigabytes: what is read
// through them counts each time.
const (
	mostBytes = 1 << 20
	mostNodes = 200_000
	mostText  = 8 << 20
)

// page is a file that is read key by key. It does not stop at the first mistake:
// its author hears of all of them.
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
	top, fault := strictyaml.Document(text)
	switch {
	case fault != nil:
		p.fault(fault.Line, "", "%s", fault.Why)
	case top == nil:
		p.fault(1, "", "there is nothing in it")
	}
	return top
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
