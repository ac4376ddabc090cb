package bases

import (
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/ancestor"
	"github.com/forkbox/forkbox/internal/review/scope"
)

// looks looks at workspaces right after they were forked, to keep what they
// were. One look serves all the boxes that were forked before it began; while
// it goes on, the next ones wait.
type looks struct {
	mu      sync.Mutex
	waiting map[scanKey][]forkbox.Box // an entry is there while a look goes on
	spaces  []*space                  // the last ones, the latest at the end
	// before is called before each look. Tests hold them up.
	before func()
}

// space is a workspace that was looked at.
type space struct {
	scanKey
	*ancestor.Workspace
}

const (
	maxSpaces = 16 // that are remembered
	// shortLook is what a look may take without making the next one wait: one
	// that takes longer is not to keep a processor busy by itself.
	shortLook = 20 * time.Millisecond
)

// Look has a box's workspace looked at. It is called for the fork itself, and
// returns at once.
func (m *Manager) Look(box forkbox.Box) {
	root := scope.Root(box.Dir, Exists)
	if m.Dir == nil || root == "" || !box.Base.IsReality() {
		return
	}
	key := scanKey{root, box.Owner.UID}
	m.looks.mu.Lock()
	defer m.looks.mu.Unlock()
	if m.looks.waiting == nil {
		m.looks.waiting = map[scanKey][]forkbox.Box{}
	}
	others, going := m.looks.waiting[key]
	m.looks.waiting[key] = append(others, box)
	if !going {
		m.core.Work.Go(func() { m.lookAt(key) })
	}
}

// lookAt looks as long as boxes wait for it.
func (m *Manager) lookAt(key scanKey) {
	for {
		if m.looks.before != nil {
			m.looks.before()
		}
		boxes := m.looks.next(key)
		if len(boxes) == 0 {
			return
		}
		start := time.Now()
		m.lookNow(key, boxes)
		if took := time.Since(start); took > shortLook {
			select {
			case <-time.After(took):
			case <-m.core.Ctx.Done():
			}
		}
	}
}

// next are the boxes that wait for a look. If there are none, the caller is to
// stop looking.
func (l *looks) next(key scanKey) []forkbox.Box {
	l.mu.Lock()
	defer l.mu.Unlock()
	boxes := l.waiting[key]
	if len(boxes) == 0 {
		delete(l.waiting, key)
		return nil
	}
	l.waiting[key] = nil
	return boxes
}

// Looking says whether a look at a workspace goes on or is to come, and how many
// boxes wait for the next one.
func (m *Manager) Looking() (going bool, waiting int) {
	m.looks.mu.Lock()
	defer m.looks.mu.Unlock()
	for _, boxes := range m.looks.waiting {
		waiting += len(boxes)
	}
	return len(m.looks.waiting) > 0, waiting
}

// BeforeLooks has before be called before each look, from the next one on.
func (m *Manager) BeforeLooks(before func()) { m.looks.before = before }

func (m *Manager) lookNow(key scanKey, boxes []forkbox.Box) {
	if m.core.Ctx.Err() != nil {
		return
	}
	if m.core.Reserve != nil {
		if short, _ := m.core.Reserve(); short {
			return // copies are not what the last of the disk is for
		}
	}
	books := make([]*ancestor.Book, len(boxes))
	for i, box := range boxes {
		books[i] = m.Book(box, key.root)
	}
	if err := m.space(key, boxes[len(boxes)-1].Owner).Look(m.core.Ctx, books); err != nil {
		m.core.Log.Debug("cannot keep what a workspace was", "root", key.root, "error", err)
	}
}

// space finds a workspace with what is remembered of it.
func (m *Manager) space(key scanKey, owner forkbox.Owner) *ancestor.Workspace {
	l := &m.looks
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.spaces, func(s *space) bool { return s.scanKey == key })
	if i < 0 {
		l.spaces = append(l.spaces, &space{key, m.newSpace(key.root, owner)})
		i = len(l.spaces) - 1
	}
	s := l.spaces[i]
	s.Owner = owner // whose groups may be others by now; no other goroutine looks
	l.spaces = append(slices.Delete(l.spaces, i, i+1), s)
	l.spaces = slices.Delete(l.spaces, 0, max(0, len(l.spaces)-maxSpaces))
	return s.Workspace
}

func (m *Manager) newSpace(root string, owner forkbox.Owner) *ancestor.Workspace {
	hidden := m.core.Hidden(owner.Home)
	store := []string{filepath.Dir(m.core.Receipts), filepath.Dir(filepath.Dir(filepath.Dir(m.Dir("box"))))}
	return &ancestor.Workspace{
		Root: root, Owner: owner,
		Ignored: func() func(string, bool) bool {
			sorter := NewSorter(root, forkbox.Box{Owner: owner})
			return func(path string, dir bool) bool {
				kind := "file"
				if dir {
					kind = "dir"
				}
				return sorter.Scope(forkbox.Change{Path: path, Kind: forkbox.Modified, Type: kind}) == forkbox.Noise
			}
		},
		Hidden: func(path string) bool {
			return slices.Contains(store, path) || slices.ContainsFunc(hidden, func(h string) bool { return forkbox.Within(path, h) })
		},
	}
}
