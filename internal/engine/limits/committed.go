package limits

import (
	"context"

	"github.com/forkbox/forkbox"
)

// Committed is what the host has promised.
func (q *Line) Committed() Committed {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.committed()
}

// Len is how many wait, and how many were given a place and are not there yet.
func (q *Line) Len() (waiting, admitted int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting), len(q.passes)
}

// committed is what the host has promised. The caller holds mu.
func (q *Line) committed() Committed {
	now := Committed{ByUser: map[int]UserCommitted{}}
	for uid, o := range q.owned {
		held := q.held[uid]
		now.ByUser[uid] = UserCommitted{Boxes: o.boxes - held.boxes, Disk: o.disk - held.disk}
	}
	for _, c := range q.running {
		addRunning(&now, c)
	}
	for p := range q.passes {
		if p.Want.Start {
			addRunning(&now, commitmentOf(p.Want.Owner.UID, p.Want.Policy))
		}
		if p.Want.New {
			u := now.ByUser[p.Want.Owner.UID]
			u.Boxes, u.Disk = u.Boxes+1, u.Disk+limitIn(p.Want.Policy, forkbox.Disk)
			now.ByUser[p.Want.Owner.UID] = u
		}
	}
	return now
}

// addRunning adds a box that runs.
func addRunning(now *Committed, c commitment) {
	now.Running, now.Memory, now.CPUs = now.Running+1, now.Memory+c.memory, now.CPUs+c.cpus
	if c.paused {
		now.Paused++
	}
	u := now.ByUser[c.uid]
	u.Running, u.Memory, u.CPUs = u.Running+1, u.Memory+c.memory, u.CPUs+c.cpus
	now.ByUser[c.uid] = u
}

func commitmentOf(uid int, p forkbox.Policy) commitment {
	return commitment{uid: uid, memory: limitIn(p, forkbox.Memory), cpus: limitIn(p, forkbox.CPUs)}
}

// limitIn is a limit, or nothing where there is none.
func limitIn(p forkbox.Policy, r forkbox.Resource) int64 {
	v, has := p.Of(r)
	if !has {
		return 0
	}
	return v
}

// Runs notes that a box runs, with what it may use now and whether it is paused.
func (q *Line) Runs(box forkbox.Box) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.run(box)
}

// run is runs for a caller that holds mu.
func (q *Line) run(box forkbox.Box) {
	c := commitmentOf(box.Owner.UID, box.Policy)
	c.paused = box.Paused != ""
	q.running[box.ID] = c
}

// Rests notes that a box does not run any more.
func (q *Line) Rests(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.running, id)
	q.round()
}

// Made notes that a new box is there, for which there was a place.
func (q *Line) Made(box forkbox.Box) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.own(box, 1)
	q.arrived(box)
	q.round()
}

// Exists notes that a box is there, or with a by of -1 that it is gone.
func (q *Line) Exists(box forkbox.Box, by int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.own(box, by)
	q.round()
}

func (q *Line) own(box forkbox.Box, by int) {
	o := q.owned[box.Owner.UID]
	o.boxes, o.disk = o.boxes+by, o.disk+int64(by)*limitIn(box.Policy, forkbox.Disk)
	q.owned[box.Owner.UID] = o
	if o.boxes <= 0 {
		delete(q.owned, box.Owner.UID)
	}
}

// arrived notes that a box is there whose place is still held: it must not
// count twice. The caller holds mu.
func (q *Line) arrived(box forkbox.Box) {
	o, expected := q.held[box.Owner.UID], 0
	for p := range q.passes {
		if p.Want.New && p.Want.Owner.UID == box.Owner.UID {
			expected++
		}
	}
	if o.boxes >= expected {
		return // it needed no place
	}
	q.held[box.Owner.UID] = ownership{o.boxes + 1, o.disk + limitIn(box.Policy, forkbox.Disk)}
}

// left notes that a place for a new box was given back. If its box never came,
// another's counts twice until that one's place is given back too: too much
// rather than too little. The caller holds mu.
func (q *Line) left(want Want) {
	uid := want.Owner.UID
	o := q.held[uid]
	if !want.New || o.boxes == 0 {
		return
	}
	q.held[uid] = ownership{o.boxes - 1, max(0, o.disk-limitIn(want.Policy, forkbox.Disk))}
	if o.boxes == 1 {
		delete(q.held, uid)
	}
}

// Changed notes that a box has other limits.
func (q *Line) Changed(was, now forkbox.Box, running bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.change(was, now, running)
	q.round()
}

func (q *Line) change(was, now forkbox.Box, running bool) {
	o := q.owned[now.Owner.UID]
	o.disk += limitIn(now.Policy, forkbox.Disk) - limitIn(was.Policy, forkbox.Disk)
	q.owned[now.Owner.UID] = o
	if running {
		q.run(now)
	}
}

// grow has larger limits of a box count, if there is room for them. To look and
// to count is one step: two that grow at once must not both find the room.
func (q *Line) grow(was, now forkbox.Box, running bool, want Want) Verdict {
	q.mu.Lock()
	defer q.mu.Unlock()
	v := q.policies.Admit(q.elsewhere(was), want)
	if v.OK {
		q.change(was, now, running)
	}
	return v
}

// count begins with the boxes that there are.
func (q *Line) count(boxes []forkbox.Box) {
	q.mu.Lock()
	q.owned = map[int]ownership{}
	q.mu.Unlock()
	for _, b := range boxes {
		q.Exists(b, 1)
	}
}

// elsewhere is what is committed but for one box. The caller holds mu.
func (q *Line) elsewhere(box forkbox.Box) Committed {
	was, has := q.running[box.ID]
	delete(q.running, box.ID)
	now := q.committed()
	if has {
		q.running[box.ID] = was
	}
	u := now.ByUser[box.Owner.UID]
	u.Boxes, u.Disk = u.Boxes-1, u.Disk-limitIn(box.Policy, forkbox.Disk)
	now.ByUser[box.Owner.UID] = u
	return now
}

// CountBoxes begins to count what each owner has, with the boxes at rest.
func (m *Manager) CountBoxes(ctx context.Context, atRest []forkbox.Box) {
	active, err := m.core.Ledger.Boxes(ctx, nil, forkbox.Creating, forkbox.Running, forkbox.Removing)
	if err != nil {
		m.core.Log.ErrorContext(ctx, "cannot list boxes", "error", err)
	}
	m.Line.count(append(active, atRest...))
}
