package changes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"weak"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review"
)

// ManyMarks is from how many paths on marks are shared. Fewer are read anew for
// each view, side by side.
const ManyMarks = 10000

// sharing has those who look at a box at the same time use the same marks, if
// there are many: of a million paths one set takes a third of what a daemon may.
// It is often two who look: a command and, once what ran in the box is through,
// the daemon itself.
type sharing struct {
	turn chan struct{} // full while a caller reads many marks
	last []markSet     // the latest at the end
}

// markSet is marks that were read, as long as a view has them.
type markSet struct {
	state string // of what they were read from
	marks weak.Pointer[review.Marks]
	left  weak.Pointer[review.Inodes]
}

// maxMarkSets is how many are remembered.
const maxMarkSets = 8

// sharedMarks are the marks of a box that has many. Only one caller at a time
// reads such.
func (m *Manager) sharedMarks(ctx context.Context, box forkbox.Box) (*review.Marks, *review.Inodes, error) {
	select {
	case m.sharing.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	defer func() { <-m.sharing.turn }()
	t, err := m.traces(ctx, box)
	if err != nil {
		return nil, nil, err
	}
	state := m.stateOf(t)
	if marks, left, ok := m.sharing.find(state); ok {
		return marks, left, nil
	}
	marks, left, err := m.readMarks(t)
	if err == nil {
		m.sharing.keep(markSet{state, weak.Make(marks), weak.Make(left)})
	}
	return marks, left, err
}

// stateOf is another one whenever the marks would be.
func (m *Manager) stateOf(t traces) string {
	var s strings.Builder
	add := func(path string) {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(&s, " %d/%d", info.Size(), info.ModTime().UnixNano())
		}
	}
	fmt.Fprintf(&s, "%s %d", t.box.ID, t.box.Base.Fence.UnixNano())
	if m.bases.Dir != nil {
		add(m.putBackFile(t.box.ID))
		add(m.ownCopiesFile(t.box.ID))
	}
	for _, receipts := range [][]forkbox.Receipt{t.own, t.others, t.kin} {
		s.WriteString(";")
		for _, r := range receipts {
			fmt.Fprintf(&s, " %s %s %d", r.ID, r.State, r.Undone.UnixNano())
			add(filepath.Join(m.core.Receipts, r.ID)) // each step of a landing or an undo makes a file there
		}
	}
	return s.String()
}

func (x *sharing) find(state string) (*review.Marks, *review.Inodes, bool) {
	for _, set := range x.last {
		if marks, left := set.marks.Value(), set.left.Value(); set.state == state && marks != nil && left != nil {
			return marks, left, true
		}
	}
	return nil, nil, false
}

func (x *sharing) keep(set markSet) {
	x.last = append(x.last, set)
	x.last = x.last[max(0, len(x.last)-maxMarkSets):]
}
