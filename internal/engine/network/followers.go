package network

import (
	"sync"

	"github.com/forkbox/forkbox"
)

// followers hear each record of connections that was written.
type followers struct {
	mu  sync.Mutex
	all map[*follower]bool
}

// follower is one of them. What it hears waits for it, up to a limit: who reads
// too slowly loses the oldest, which are in the ledger.
type follower struct {
	uid  int
	box  string // all if empty
	wake chan struct{}
	gone chan struct{} // closed when the box is

	mu    sync.Mutex
	queue []forkbox.Conn
}

const followerRoom = 10_000

func (f *followers) join(uid int, box string) *follower {
	one := &follower{uid: uid, box: box, wake: make(chan struct{}, 1), gone: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[*follower]bool{}
	}
	f.all[one] = true
	return one
}

func (f *followers) leave(one *follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, one)
}

// end lets go of those who follow a box that was removed.
func (f *followers) end(box string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for one := range f.all {
		if one.box == box {
			delete(f.all, one)
			close(one.gone)
		}
	}
}

// count is how many there are.
func (f *followers) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.all)
}

func (f *followers) tell(conns []forkbox.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for one := range f.all {
		one.hear(conns)
	}
}

func (f *follower) hear(conns []forkbox.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range conns {
		if c.UID == f.uid && (f.box == "" || f.box == c.Box) {
			f.queue = append(f.queue, c)
		}
	}
	if over := len(f.queue) - followerRoom; over > 0 {
		f.queue = append([]forkbox.Conn(nil), f.queue[over:]...)
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// heard takes what it heard.
func (f *follower) heard() []forkbox.Conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.queue
	f.queue = nil
	return out
}
