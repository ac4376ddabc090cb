package snapshot

import (
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// pedigree knows who came from what. Every box, snapshot and template is one
// branch, found by its id.
type pedigree struct {
	family   forkbox.Family
	branches map[string]*branch
	gone     map[string]*branch // what stands for a parent that is not there, by its id
	top      []*branch
	lost     []*branch // those of gone that hang nowhere, for the end
}

func newPedigree(family forkbox.Family) *pedigree {
	p := &pedigree{family: family, branches: map[string]*branch{}, gone: map[string]*branch{}}
	for _, box := range family.Boxes {
		p.branches[box.ID] = &branch{text: boxText(box)}
	}
	for _, s := range family.Snapshots {
		p.branches[s.ID] = &branch{text: p.snapshotText(s)}
	}
	for _, t := range family.Templates {
		p.branches[t.ID] = &branch{text: templateText(t)}
	}
	return p
}

// roots hangs every branch below the one it came from, and returns those that
// came from nothing. It is for one call.
func (p *pedigree) roots() []*branch {
	for _, s := range p.family.Snapshots {
		p.hang(s.ID, s.Box, "")
	}
	for _, t := range p.family.Templates {
		p.hang(t.ID, t.Parent, "")
	}
	for _, box := range p.family.Boxes {
		p.hang(box.ID, box.Parent, box.ParentBox)
	}
	return append(p.top, p.lost...)
}

// hang puts a branch below its parent. Where that is gone, something stands for
// it, below the box that it was of if that is still there.
func (p *pedigree) hang(id, parent, parentBox string) {
	b := p.branches[id]
	switch above, known := p.branches[parent]; {
	case known && !above.isBelow(b):
		above.below = append(above.below, b)
	case parent == "" || known:
		p.top = append(p.top, b)
	default:
		stand := p.standIn(parent, parentBox, id)
		stand.below = append(stand.below, b)
	}
}

// isBelow says whether b is of, or is, what hangs below other: then other must
// not hang below b.
func (b *branch) isBelow(other *branch) bool {
	if b == other {
		return true
	}
	for _, child := range other.below {
		if b.isBelow(child) {
			return true
		}
	}
	return false
}

func (p *pedigree) standIn(parent, parentBox, child string) *branch {
	if stand, known := p.gone[parent]; known {
		return stand
	}
	stand := &branch{text: describe.Removed}
	p.gone[parent] = stand
	if box, known := p.branches[parentBox]; known && parentBox != child && !box.isBelow(p.branches[child]) {
		stand.text = "@" + describe.Removed
		box.below = append(box.below, stand)
		return stand
	}
	p.lost = append(p.lost, stand)
	return stand
}

func boxText(box forkbox.Box) string {
	return joinNotes(box.Name, string(box.State), terminal.Ago(box.Created))
}

func (p *pedigree) snapshotText(s forkbox.Snapshot) string {
	name := "@" + terminal.Printable(s.Name)
	for _, box := range p.family.Boxes {
		if box.ID == s.Box {
			name += standsOn(box, s)
		}
	}
	text := joinNotes(name, terminal.Ago(s.Created))
	if message := describe.Message(s); message != "" {
		text += "  " + message
	}
	return text
}

func templateText(t forkbox.Template) string {
	text := joinNotes("template "+terminal.Printable(t.Name), terminal.Ago(t.Created))
	if t.Message != "" {
		text += "  " + terminal.Printable(t.Message)
	}
	return text
}

// joinNotes reads "name  (stopped, 5m ago)".
func joinNotes(name string, notes ...string) string {
	return name + "  (" + strings.Join(notes, ", ") + ")"
}
