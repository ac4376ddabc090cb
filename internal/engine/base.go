package engine

import (
	"context"
	"io/fs"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/git"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/review/ancestor"
	"github.com/forkbox/forkbox/internal/review/scope"
)

// book is what is known of reality as it was at a box's fence.
func (e *Engine) book(box forkbox.Box, root string) *ancestor.Book {
	if e.bases == nil {
		return nil
	}
	var repo *git.Repo
	if inGit(root) {
		repo = &git.Repo{Root: root, Owner: box.Owner}
	}
	return ancestor.Open(e.bases(box.ID), repo, box.Base.Fence)
}

// ancestors is what a merge may start from: what reality was at the fence or,
// where the box has landed something since, what it landed.
type ancestors struct {
	*ancestor.Book
	engine *Engine
	marks  *review.Marks
}

func (a *ancestors) Base(ctx context.Context, path string) (content []byte, mode fs.FileMode, known, absent bool, err error) {
	m, _ := a.marks.Get(path)
	if !m.Landed {
		return a.Book.Base(ctx, path)
	}
	return a.engine.landedBook(m.Receipt).Base(ctx, path)
}

// landedBook has what a receipt landed of the box's, see landedBase.
func (e *Engine) landedBook(receipt string) *ancestor.Book {
	return ancestor.Open(e.landedBase(receipt), nil, time.Time{})
}

// scanAfter keeps the scan out of the way of what the box is made for. A box
// that is gone by then costs nothing.
const scanAfter = 50 * time.Millisecond

// scans asks git, after a fork, which files of the workspace are as committed:
// their content at the fence can then be had from git for a merge. One scan
// serves all the boxes that were forked before it began.
type scans struct {
	mu      sync.Mutex
	waiting map[scanKey][]forkbox.Box
}

type scanKey struct {
	root string
	uid  int
}

// forked has what a box was forked from kept: by a look at its workspace now,
// and by asking git soon.
func (e *Engine) forked(box forkbox.Box) {
	e.look(box)
	e.scan(box)
}

// scan has a box's workspace scanned soon.
func (e *Engine) scan(box forkbox.Box) {
	root := scope.Root(box.Dir, exists)
	if e.bases == nil || !inGit(root) {
		return
	}
	key := scanKey{root, box.Owner.UID}
	e.scans.mu.Lock()
	defer e.scans.mu.Unlock()
	if e.scans.waiting == nil {
		e.scans.waiting = map[scanKey][]forkbox.Box{}
	}
	e.scans.waiting[key] = append(e.scans.waiting[key], box)
	if len(e.scans.waiting[key]) == 1 {
		e.work.Go(func() { e.scanSoon(key) })
	}
}

func (e *Engine) scanSoon(key scanKey) {
	select {
	case <-time.After(scanAfter):
	case <-e.ctx.Done():
		return
	}
	e.scans.mu.Lock()
	boxes := e.scans.waiting[key]
	delete(e.scans.waiting, key)
	e.scans.mu.Unlock()
	var alive []forkbox.Box
	for _, b := range boxes {
		if _, err := e.ledger.Box(e.ctx, b.ID); err == nil {
			alive = append(alive, b)
		}
	}
	if len(alive) > 0 {
		e.scanNow(key.root, alive)
	}
}

// scanNow notes for each box what git says, where nothing was done with git
// since that box was forked. Boxes come in the order of their fences.
func (e *Engine) scanNow(root string, boxes []forkbox.Box) {
	repo := git.Repo{Root: root, Owner: boxes[0].Owner}
	clean, ok, err := repo.Scan(e.ctx, boxes[0].Base.Fence)
	if err != nil || !ok {
		if len(boxes) > 1 && err == nil {
			e.scanNow(root, boxes[1:]) // git was at work between the two forks
		}
		return
	}
	for _, box := range boxes {
		// What holds since the first fence holds since the later ones.
		clean.Fence = box.Base.Fence
		if err := e.book(box, root).Note(clean); err != nil {
			e.log.Debug("cannot note what git says", "box", box.ID, "error", err)
		}
	}
}

// maxPins is how many files' bases are kept at most each time a box is looked
// at, where git does not have them.
const maxPins = 512

// pinner keeps the base of changed files while reality still has it.
type pinner struct {
	book *ancestor.Book
	left int
}

func (e *Engine) newPinner(v *review.View) *pinner {
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

// observe looks at a box that has just become idle, to keep the bases of what
// it changed.
func (e *Engine) observe(id string) {
	if e.bases == nil {
		return
	}
	box, err := e.ledger.Box(e.ctx, id)
	if err != nil || usable("", box) != nil {
		return
	}
	view, err := e.view(e.ctx, box)
	if err != nil {
		return
	}
	pins := e.newPinner(view)
	chosen := review.Choose(forkbox.Selection{All: true}, nil, newSorter(view.Root, box))
	_ = view.Each(e.ctx, chosen, func(x *review.Entry) error {
		pins.see(x)
		return nil
	})
}
