//go:build linux

package native

import (
	"errors"
	"strconv"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cgroup"
)

// execGroup is the group of an exec that is yet to come, and the way into it.
// To make one takes the kernel a tenth of a whole exec, so that of the next is
// made while no caller waits.
type execGroup struct {
	id    string
	sub   *cgroup.Sub
	entry *cgroup.Entry
}

// firstID is that of the first exec of every box.
const firstID = "1"

// readyFirst has the group of the first exec at hand for when a spare is taken.
func (e *enclosure) readyFirst() error {
	if e.group == nil {
		return nil
	}
	return e.readyFor(firstID)
}

// readyNext is for when an exec has ended. Who has run a second command in a
// box will run a third.
func (e *enclosure) readyNext(id string) {
	n, err := strconv.Atoi(id)
	if e.group == nil || err != nil || id == firstID {
		return
	}
	_ = e.readyFor(strconv.Itoa(n + 1)) // else it is made when it is needed
}

func (e *enclosure) readyFor(id string) error {
	e.ahead.Lock()
	defer e.ahead.Unlock()
	e.mu.Lock()
	late := e.disbanded || e.next != nil
	e.mu.Unlock()
	if late || e.runs(id) {
		return nil
	}
	next, err := e.newExecGroup(id, nil)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.disbanded { // its group goes with the box's
		next.entry.Close()
		return nil
	}
	e.next = next
	return nil
}

// groupFor is the group of an exec that begins.
func (e *enclosure) groupFor(id string, own forkbox.Limits) (*execGroup, error) {
	e.ahead.Lock()
	defer e.ahead.Unlock()
	e.mu.Lock()
	ready := e.next
	e.next = nil
	e.mu.Unlock()
	if ready != nil && ready.id == id && len(own) == 0 {
		ready.sub.Begins()
		return ready, nil
	}
	if ready != nil {
		ready.entry.Close()
		if err := ready.sub.Remove(); err != nil && ready.id == id {
			return nil, err
		}
	}
	g, err := e.newExecGroup(id, own)
	if forkbox.CodeOf(err) != forkbox.Exists || e.fresh {
		return g, err
	}
	// An earlier daemon had it ready. One that has processes is not removed.
	if left, ferr := e.group.FindExec(id); ferr != nil || left.Remove() != nil {
		return nil, err
	}
	return e.newExecGroup(id, own)
}

// add makes a group beside those of execs, which goes when it is left.
func (e *enclosure) add(id string) (*execGroup, error) {
	made, err := e.newExecGroup(id, nil)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.subs[id] = made.sub
	return made, nil
}

func (e *enclosure) newExecGroup(id string, own forkbox.Limits) (*execGroup, error) {
	sub, err := e.group.Exec(id, own)
	if err != nil {
		return nil, err
	}
	entry, err := disowned(sub.EntryFromBox()) // init is, and starts it
	if err != nil {
		return nil, errors.Join(err, sub.Remove())
	}
	return &execGroup{id, sub, entry}, nil
}
