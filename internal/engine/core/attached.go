package core

import (
	"strings"
	"sync"

	"github.com/forkbox/forkbox"
)

// Attached is a running instance and what goes on in it. The handle's Mu guards
// Execs and what comes after it. What one manager alone knows of it is in its Slot.
type Attached struct {
	Instance forkbox.Instance
	Gone     chan struct{} // closed when the engine lets go of the instance
	Owner    int           // whose box it is
	Poke     chan struct{} // has what looks after it look at once
	slots    slots

	Execs  map[string]*Execution // running
	Visits int                   // how often something else is done in it now
	Known  forkbox.Box           // its record, as of the last change that matters here
	Ending *Ending               // the engine asked for it to end
}

// Execution is an exec that runs.
type Execution struct {
	Exec   forkbox.Exec
	Ending *Ending // the engine asked for it to end
	Sender Signaller
	Done   chan struct{} // closed when exec has its exit
}

// InUse says whether a command runs in the box, or something else is done there that
// its owner waits for. Services run for those. The caller holds the handle's Mu.
func (a *Attached) InUse() bool {
	for _, x := range a.Execs {
		if !strings.HasPrefix(x.Exec.Label, forkbox.ServiceLabel) {
			return true
		}
	}
	return a.Visits > 0
}

// Govern takes over what the record says now, and has the goroutine that
// tends the box look at once.
func (h *Handle) Govern(a *Attached, box forkbox.Box) {
	h.Mu.Lock()
	a.Known = box
	a.Known.Env = nil
	h.Mu.Unlock()
	select {
	case a.Poke <- struct{}{}:
	default:
	}
}

// Box is the record of the box as it was last taken over.
func (h *Handle) Box(a *Attached) forkbox.Box {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	return a.Known
}

// Policy is the box's as of then, and PausedWhy why it stands still, if it does.
func (h *Handle) Policy(a *Attached) forkbox.Policy { return h.Box(a).Policy }
func (h *Handle) PausedWhy(a *Attached) string      { return h.Box(a).Paused }

// Ending is why the engine ends the instance, nil when it does not.
func (h *Handle) Ending(a *Attached) *Ending {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	return a.Ending
}

// SetEnding says why the engine is about to end the instance; nil takes that back.
func (h *Handle) SetEnding(a *Attached, why *Ending) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	a.Ending = why
}

// SetKilled says why the engine is about to end an exec; nil takes that back.
func (h *Handle) SetKilled(x *Execution, why *Ending) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	x.Ending = why
}

// SetSender is called before the signal is sent: the exit may be here at once.
func (h *Handle) SetSender(x *Execution, from Signaller) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	x.Sender = from
}

// Record is an exec as it stands now.
func (h *Handle) Record(x *Execution) forkbox.Exec {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	return x.Exec
}

// Slot is where a manager keeps what it knows of a running instance: only the
// manager that has the slot gets at it, and it goes with the instance.
type Slot[T any] struct{ _ byte } // not empty: each slot has an address of its own

// Of is what is kept of an instance, the zero value at first.
func (s *Slot[T]) Of(a *Attached) *T {
	a.slots.mu.Lock()
	defer a.slots.mu.Unlock()
	if a.slots.kept == nil {
		a.slots.kept = map[any]any{}
	}
	v, ok := a.slots.kept[s].(*T)
	if !ok {
		v = new(T)
		a.slots.kept[s] = v
	}
	return v
}

// slots are those of one instance.
type slots struct {
	mu   sync.Mutex // guards kept, not what is in it
	kept map[any]any
}
