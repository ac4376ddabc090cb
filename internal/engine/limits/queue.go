package limits

import (
	"slices"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Line is who waits for the host, and what the host has promised. Its lock is
// the innermost: nothing is waited for while it is held.
type Line struct {
	policies Policies

	mu      sync.Mutex
	waiting []*waiter             // by priority, then in the order they came
	passes  map[*Pass]bool        // admitted, and not there yet
	running map[string]commitment // boxes that run, by id
	owned   map[int]ownership     // by uid
	held    map[int]ownership     // of those, what passes count as well
	pumping bool
}

func newLine(p Policies) *Line {
	return &Line{policies: p, passes: map[*Pass]bool{}, running: map[string]commitment{}, owned: map[int]ownership{}, held: map[int]ownership{}}
}

// commitment is what a box that runs may use at most.
type commitment struct {
	uid          int
	memory, cpus int64
	paused       bool
}

// ownership is what an owner has, running or at rest.
type ownership struct {
	boxes int
	disk  int64
}

// waiter is a caller who waits.
type waiter struct {
	want     Want
	what     string
	priority forkbox.Priority
	ticket   string
	since    time.Time
	deadline time.Time
	why      string
	remedy   string
	asked    bool           // they said how long to wait
	looked   bool           // it was their turn once, and there was no room
	ready    chan struct{}  // closed when there is an answer
	pass     *Pass          // the answer
	refused  *forkbox.Error // or they need not wait, for this reason
}

// Pass is a place that a caller was given. It counts until it is given back,
// by when the box runs, or exists, or will not.
type Pass struct {
	Want Want
	q    *Line
}

// Done gives the place back. A nil pass is of an engine that admits every caller.
func (p *Pass) Done() {
	if p == nil {
		return
	}
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	delete(p.q.passes, p)
	p.q.left(p.Want)
	p.q.round()
}

// rank orders priorities, the first first.
func rank(p forkbox.Priority) int {
	switch p {
	case forkbox.HighPriority:
		return 0
	case forkbox.LowPriority:
		return 2
	}
	return 1
}

// join puts a caller in line and sees at once whose turn it is.
func (q *Line) join(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w.ready = make(chan struct{})
	at, _ := slices.BinarySearchFunc(q.waiting, rank(w.priority)+1, func(o *waiter, r int) int { return rank(o.priority) - r })
	q.waiting = slices.Insert(q.waiting, at, w)
	q.round()
}

// leave takes a caller out of line. place is where they stood, zero if they had
// their answer already.
func (q *Line) leave(w *waiter) (place, of int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of = len(q.waiting)
	if place = slices.Index(q.waiting, w) + 1; place > 0 {
		q.waiting = slices.Delete(q.waiting, place-1, place)
		q.round()
	}
	return place, of
}

// explain gives who is about to be refused the figure, where so far others
// stood before them.
func (q *Line) explain(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.why != othersWait {
		return
	}
	if v := q.policies.Admit(q.committed(), w.want); !v.OK && v.Why != "" {
		w.why, w.remedy = v.Why, v.Remedy
	}
}

// Poke looks whether a caller can go on.
func (q *Line) Poke() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.round()
}

// class is what wants have in common that stand in each other's way: a command
// in a box that runs has nothing to do with a box for which there is no memory.
type class struct{ fresh, start, exec bool }

func classOf(w Want) class { return class{w.New, w.Start, w.Exec} }

const othersWait = "others wait before it"

// How many may wait: each costs a look whenever something changes.
const (
	mostWaiting     = 4000
	mostWaitingEach = 1000
)

// crowded says whether no more of a user's may join.
func (q *Line) crowded(uid int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, w := range q.waiting {
		if w.want.Owner.UID == uid {
			n++
		}
	}
	return n >= mostWaitingEach || len(q.waiting) >= mostWaiting
}

// round admits the callers that can be, in order. None overtakes another command or
// box of its own user, nor one of a higher priority. Others they do overtake: a caller
// who waits for more than there will ever be must not keep all others waiting.
// The caller holds mu.
func (q *Line) round() {
	if len(q.waiting) == 0 {
		return
	}
	type own struct {
		class
		uid int
	}
	first, before := map[class]int{}, map[own]int{}
	now := q.committed()
	q.waiting = slices.DeleteFunc(slices.Clone(q.waiting), func(w *waiter) bool {
		c, r := classOf(w.want), rank(w.priority)
		mine := own{c, w.want.Owner.UID}
		above, waits := first[c]
		if before[mine] > 0 || waits && above < r {
			w.why = othersWait // no need to ask the policies
			before[mine]++
			return false
		}
		v := q.policies.Admit(now, w.want)
		if v.OK || !v.Wait || w.hopeless(v) {
			q.answer(w, v)
			now = q.committed()
			return true
		}
		w.why, w.remedy, w.looked = core.OrElse(v.Why, "the host is full"), v.Remedy, true
		before[mine]++
		// One that has to wait for its owner's quota is in no other's way.
		if !waits && !q.policies.Admit(without(now, mine.uid), w.want).OK {
			first[c] = r
		}
		return false
	})
}

func (q *Line) answer(w *waiter, v Verdict) {
	if v.OK {
		w.pass = &Pass{w.want, q}
		q.passes[w.pass] = true
	} else {
		w.refused = w.refusal(v)
	}
	close(w.ready)
}

// hopeless says that a caller would wait for what only a person can change, and
// did not ask to. Later it is not: a box that has just ended may be removed next.
func (w *waiter) hopeless(v Verdict) bool { return v.Stuck && !w.asked && !w.looked }

func (w *waiter) refusal(v Verdict) *forkbox.Error {
	w.remedy = v.Remedy
	if !v.Wait {
		return w.remedied(forkbox.Errorf(forkbox.Denied, w.what, "%s", core.OrElse(v.Why, "the host has not that much")))
	}
	return w.remedied(forkbox.Errorf(forkbox.Busy, w.what, "the host is full: %s", v.Why)).Hint("wait until there is room: --wait 10m")
}

// remedied is a refusal with what can be done about it, where that is known.
func (w *waiter) remedied(err *forkbox.Error) *forkbox.Error {
	if w.remedy == "" {
		return err
	}
	return err.Hint("%s", w.remedy)
}

// without is what is committed but for one user's quota.
func without(now Committed, uid int) Committed {
	users := map[int]UserCommitted{}
	for u, c := range now.ByUser {
		if u != uid {
			users[u] = c
		}
	}
	now.ByUser = users
	return now
}
