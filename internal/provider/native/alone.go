//go:build linux

package native

import "github.com/forkbox/forkbox"

// Whether anything runs in a box is asked when an exec has ended, before a box
// rests, and before it is stopped. As a rule nothing does. The kernel knows it
// from one file, where init would have to wake up and look through /proc.

// alone is init, if the box has no other process and has nothing to tell; nil
// if it has, or if that cannot be told.
func (i *instance) alone() *forkbox.Process {
	if i.group == nil {
		return nil
	}
	i.mu.Lock()
	init, quiet := i.init, i.told && len(i.running) == 0 && len(i.early) == 0
	i.mu.Unlock()
	select {
	case <-i.done:
		return nil
	default:
	}
	if init == nil || !quiet || !i.group.Idle() {
		return nil
	}
	return init
}

// meet remembers how init describes itself.
func (i *instance) meet(list []forkbox.Process) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, p := range list {
		if p.PID == 1 {
			i.init = &p
		}
	}
}

// knowsAll is for an instance that has been told of all execs that run.
func (i *instance) knowsAll() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.told = true
}

// runs notes execs that run, or are about to.
func (i *instance) runs(ids ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, id := range ids {
		i.running[id] = true
	}
}

// isRunning says whether the end of an exec is yet to come.
func (i *instance) isRunning(id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.running[id]
}

// ran notes that an exec has ended, and init has said all that it knows of it.
func (i *instance) ran(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.running, id)
}
