package change

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/forkbox/forkbox"
)

// Paths are places to compare. Two boxes may have changed a million of them
// each, and nothing is compared before all are known: so they are kept small, of
// each path only what differs from the one before it.
type Paths struct {
	sequences []sequence
	aside     []Path
}

// sequence are paths in order. Each is how much of the one before it stays, and
// whether it is deep; how much is new; and that.
type sequence struct {
	text []byte
	last string
}

// Next has the paths that follow begin anew, and not after the last one.
func (p *Paths) Next() { p.sequences = append(p.sequences, sequence{}) }

// Add takes in a path that comes after the last one in order. One that does not
// takes the room of all of it.
func (p *Paths) Add(x Path) {
	if len(p.sequences) == 0 {
		p.Next()
	}
	if r := &p.sequences[len(p.sequences)-1]; forkbox.ComparePaths(r.last, x.Name) <= 0 {
		r.add(x)
		return
	}
	p.AddAside(x)
}

// AddAside takes in one that is in no order.
func (p *Paths) AddAside(x Path) { p.aside = append(p.aside, x) }

func (r *sequence) add(x Path) {
	keep := 0
	for keep < len(r.last) && keep < len(x.Name) && r.last[keep] == x.Name[keep] {
		keep++
	}
	head := uint64(keep) << 1
	if x.Deep {
		head |= 1
	}
	r.text = binary.AppendUvarint(r.text, head)
	r.text = binary.AppendUvarint(r.text, uint64(len(x.Name)-keep))
	r.text = append(r.text, x.Name[keep:]...)
	r.last = x.Name
}

// All yields them sorted by [forkbox.ComparePaths], each once.
func (p *Paths) All() iter.Seq[Path] {
	return func(yield func(Path) bool) {
		readers := p.readers()
		var last Path
		for {
			r := first(readers)
			switch {
			case r == nil:
				if last.Name != "" {
					yield(last)
				}
				return
			case r.path.Name == last.Name:
				last.Deep = last.Deep || r.path.Deep
			case last.Name != "" && !yield(last):
				return
			default:
				last = r.path
			}
			r.next()
		}
	}
}

func (p *Paths) readers() (all []*reader) {
	slices.SortFunc(p.aside, func(a, b Path) int { return forkbox.ComparePaths(a.Name, b.Name) })
	var aside sequence
	for _, x := range p.aside {
		aside.add(x)
	}
	for _, r := range append(slices.Clone(p.sequences), aside) {
		reader := &reader{left: r.text}
		reader.next()
		all = append(all, reader)
	}
	return all
}

// first is the one that has the first path; nil when none has any more.
func first(readers []*reader) (least *reader) {
	for _, r := range readers {
		if !r.done && (least == nil || forkbox.ComparePaths(r.path.Name, least.path.Name) < 0) {
			least = r
		}
	}
	return least
}

// reader goes through a sequence.
type reader struct {
	left []byte
	path Path
	done bool
}

func (r *reader) next() {
	if r.done = len(r.left) == 0; r.done {
		return
	}
	head, n := binary.Uvarint(r.left)
	size, m := binary.Uvarint(r.left[n:])
	text := r.left[n+m:]
	r.path = Path{Name: r.path.Name[:head>>1] + string(text[:size]), Deep: head&1 != 0}
	r.left = text[size:]
}
