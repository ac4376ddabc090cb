package engine

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

// look has a box's workspace looked at. It is called for the fork itself, and
// returns at once.
func (e *Engine) look(box forkbox.Box) {
	root := scope.Root(box.Dir, exists)
	if e.bases == nil || root == "" || !box.Base.IsReality() {
		return
	}
	key := scanKey{root, box.Owner.UID}
	e.looks.mu.Lock()
	defer e.looks.mu.Unlock()
	if e.looks.waiting == nil {
		e.looks.waiting = map[scanKey][]forkbox.Box{}
	}
	others, going := e.looks.waiting[key]
	e.looks.waiting[key] = append(others, box)
	if !going {
		e.work.Go(func() { e.lookAt(key) })
	}
}

// lookAt looks as long as boxes wait for it.
func (e *Engine) lookAt(key scanKey) {
	for {
		if e.looks.before != nil {
			e.looks.before()
		}
		boxes := e.looks.next(key)
		if len(boxes) == 0 {
			return
		}
		start := time.Now()
		e.lookNow(key, boxes)
		if took := time.Since(start); took > shortLook {
			select {
			case <-time.After(took):
			case <-e.ctx.Done():
			}
		}
	}
}

// next is who waits for a look. Nobody: then the caller does not look any more.
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

// looking says whether a look at a workspace goes on, or is to come.
func (l *looks) looking() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting) > 0
}

func (e *Engine) lookNow(key scanKey, boxes []forkbox.Box) {
	if e.ctx.Err() != nil {
		return
	}
	if e.reserve != nil {
		if short, _ := e.reserve(); short {
			return // copies are not what the last of the disk is for
		}
	}
	books := make([]*ancestor.Book, len(boxes))
	for i, box := range boxes {
		books[i] = e.book(box, key.root)
	}
	if err := e.space(key, boxes[len(boxes)-1].Owner).Look(e.ctx, books); err != nil {
		e.log.Debug("cannot keep what a workspace was", "root", key.root, "error", err)
	}
}

// space finds a workspace with what is remembered of it.
func (e *Engine) space(key scanKey, owner forkbox.Owner) *ancestor.Workspace {
	l := &e.looks
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.spaces, func(s *space) bool { return s.scanKey == key })
	if i < 0 {
		l.spaces = append(l.spaces, &space{key, e.newSpace(key.root, owner)})
		i = len(l.spaces) - 1
	}
	s := l.spaces[i]
	s.Owner = owner // whose groups may be others by now; nobody else looks
	l.spaces = append(slices.Delete(l.spaces, i, i+1), s)
	l.spaces = slices.Delete(l.spaces, 0, max(0, len(l.spaces)-maxSpaces))
	return s.Workspace
}

func (e *Engine) newSpace(root string, owner forkbox.Owner) *ancestor.Workspace {
	hidden := e.hidden(owner.Home)
	store := []string{filepath.Dir(e.receipts), filepath.Dir(filepath.Dir(filepath.Dir(e.bases("box"))))}
	return &ancestor.Workspace{
		Root: root, Owner: owner,
		Ignored: func() func(string, bool) bool {
			sorter := newSorter(root, forkbox.Box{Owner: owner})
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
