package bases

import (
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/git"
	"github.com/forkbox/forkbox/internal/review/ancestor"
	"github.com/forkbox/forkbox/internal/review/scope"
)

// Book is what is known of reality as it was at a box's fence.
func (m *Manager) Book(box forkbox.Box, root string) *ancestor.Book {
	if m.Dir == nil {
		return nil
	}
	var repo *git.Repo
	if InGit(root) {
		repo = &git.Repo{Root: root, Owner: box.Owner}
	}
	return ancestor.Open(m.Dir(box.ID), repo, box.Base.Fence)
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

// Forked has what a box was forked from kept: by a look at its workspace now,
// and by asking git soon.
func (m *Manager) Forked(box forkbox.Box) {
	m.Look(box)
	m.Scan(box)
}

// Scan has a box's workspace scanned soon.
func (m *Manager) Scan(box forkbox.Box) {
	root := scope.Root(box.Dir, Exists)
	if m.Dir == nil || !InGit(root) {
		return
	}
	key := scanKey{root, box.Owner.UID}
	m.scans.mu.Lock()
	defer m.scans.mu.Unlock()
	if m.scans.waiting == nil {
		m.scans.waiting = map[scanKey][]forkbox.Box{}
	}
	m.scans.waiting[key] = append(m.scans.waiting[key], box)
	if len(m.scans.waiting[key]) == 1 {
		m.core.Work.Go(func() { m.scanSoon(key) })
	}
}

func (m *Manager) scanSoon(key scanKey) {
	select {
	case <-time.After(scanAfter):
	case <-m.core.Ctx.Done():
		return
	}
	m.scans.mu.Lock()
	boxes := m.scans.waiting[key]
	delete(m.scans.waiting, key)
	m.scans.mu.Unlock()
	var alive []forkbox.Box
	for _, b := range boxes {
		if _, err := m.core.Ledger.Box(m.core.Ctx, b.ID); err == nil {
			alive = append(alive, b)
		}
	}
	if len(alive) > 0 {
		m.scanNow(key.root, alive)
	}
}

// scanNow notes for each box what git says, where nothing was done with git
// since that box was forked. Boxes come in the order of their fences.
func (m *Manager) scanNow(root string, boxes []forkbox.Box) {
	repo := git.Repo{Root: root, Owner: boxes[0].Owner}
	clean, ok, err := repo.Scan(m.core.Ctx, boxes[0].Base.Fence)
	if err != nil || !ok {
		if len(boxes) > 1 && err == nil {
			m.scanNow(root, boxes[1:]) // git was at work between the two forks
		}
		return
	}
	for _, box := range boxes {
		// What holds since the first fence holds since the later ones.
		clean.Fence = box.Base.Fence
		if err := m.Book(box, root).Note(clean); err != nil {
			m.core.Log.Debug("cannot note what git says", "box", box.ID, "error", err)
		}
	}
}
