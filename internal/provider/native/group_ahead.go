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
func (i *instance) readyFirst() error {
	if i.group == nil {
		return nil
	}
	return i.readyFor(firstID)
}

// readyNext is for when an exec has ended. Who has run a second command in a
// box will run a third.
func (i *instance) readyNext(id string) {
	n, err := strconv.Atoi(id)
	if i.group == nil || err != nil || id == firstID {
		return
	}
	_ = i.readyFor(strconv.Itoa(n + 1)) // else it is made when it is needed
}

func (i *instance) readyFor(id string) error {
	i.ahead.Lock()
	defer i.ahead.Unlock()
	i.mu.Lock()
	late := i.disbanded || i.next != nil || i.running[id]
	i.mu.Unlock()
	if late {
		return nil
	}
	next, err := i.newExecGroup(id, nil)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.disbanded { // its group goes with the box's
		next.entry.Close()
		return nil
	}
	i.next = next
	return nil
}

// groupFor is the group of an exec that begins.
func (i *instance) groupFor(id string, own forkbox.Limits) (*execGroup, error) {
	i.ahead.Lock()
	defer i.ahead.Unlock()
	i.mu.Lock()
	ready := i.next
	i.next = nil
	i.mu.Unlock()
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
	g, err := i.newExecGroup(id, own)
	if forkbox.CodeOf(err) != forkbox.Exists || i.fresh {
		return g, err
	}
	// An earlier daemon had it ready. One that has processes is not removed.
	if left, ferr := i.group.FindExec(id); ferr != nil || left.Remove() != nil {
		return nil, err
	}
	return i.newExecGroup(id, own)
}

func (i *instance) newExecGroup(id string, own forkbox.Limits) (*execGroup, error) {
	sub, err := i.group.Exec(id, own)
	if err != nil {
		return nil, err
	}
	entry, err := disowned(sub.EntryFromBox()) // init is, and starts it
	if err != nil {
		return nil, errors.Join(err, sub.Remove())
	}
	return &execGroup{id, sub, entry}, nil
}
