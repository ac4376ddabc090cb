package changes

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/review/ancestor"
)

// ancestors is what a merge may start from: what reality was at the fence or,
// where the box has landed something since, what it landed.
type ancestors struct {
	*ancestor.Book
	engine *Manager
	marks  *review.Marks
}

func (a *ancestors) Base(ctx context.Context, path string) (content []byte, mode fs.FileMode, known, absent bool, err error) {
	m, _ := a.marks.Get(path)
	switch {
	case m.Landed:
		return a.engine.LandedBook(m.Receipt).Base(ctx, path)
	case m.TakenBack:
		return nil, 0, false, false, ctx.Err() // the box would seem to have done nothing
	}
	return a.Book.Base(ctx, path)
}

// LandedBook has what a receipt landed of the box's, see LandedBase.
func (m *Manager) LandedBook(receipt string) *ancestor.Book {
	return ancestor.Open(m.LandedBase(receipt), nil, time.Time{})
}

// maxPins is how many files' bases are kept at most each time a box is looked
// at, where git does not have them.
const maxPins = 512

// pinner keeps the base of changed files while reality still has it.
type pinner struct {
	book *ancestor.Book
	left int
}

func (m *Manager) newPinner(v *review.View) *pinner {
	if a, ok := v.Ancestors.(*ancestors); ok {
		return &pinner{a.Book, maxPins}
	}
	return nil
}

// see pins one file that the box modified or deleted and reality did not, or
// the mode of a directory.
func (p *pinner) see(x *review.Entry) {
	if p == nil || p.left == 0 || x.Drifted || x.Hidden || x.Scope == forkbox.Noise || !pinnable(x.Change) {
		return
	}
	old, err := x.Sides.Old()
	if err != nil || !old.Mode.IsRegular() && !old.Mode.IsDir() {
		return
	}
	if p.book.Copied(x.Path) {
		return
	}
	p.left--
	_ = p.book.Pin(x.Path, old, x.ShowOld) // without it the merge is refused, nothing is lost
}

func pinnable(c forkbox.Change) bool {
	if c.Type == "dir" {
		return c.Kind == forkbox.Mode
	}
	return c.Type == "file" && (c.Kind == forkbox.Modified || c.Kind == forkbox.Deleted)
}

// Observe looks at a box that has just become idle, to keep the bases of what
// it changed.
func (m *Manager) Observe(id string) {
	if m.bases.Dir == nil {
		return
	}
	box, err := m.core.Ledger.Box(m.core.Ctx, id)
	if err != nil || core.Usable("", box) != nil {
		return
	}
	view, err := m.View(m.core.Ctx, box)
	if err != nil {
		return
	}
	pins := m.newPinner(view)
	chosen := review.Choose(forkbox.Selection{All: true}, nil, bases.NewSorter(view.Root, box))
	_ = view.Each(m.core.Ctx, chosen, func(x *review.Entry) error {
		pins.see(x)
		return nil
	})
}

// LandedBase is where a receipt keeps what it landed of the box's, where that
// is not all that the box has, or reality has more: the base of the next merge.
func (m *Manager) LandedBase(id string) string { return filepath.Join(m.core.Receipts, id+".base") }
