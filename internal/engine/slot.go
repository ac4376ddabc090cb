package engine

import "sync"

// slot is where a manager keeps what it knows of a running instance: only the
// manager that has the slot gets at it, and it goes with the instance.
type slot[T any] struct{ _ byte } // not empty: each slot has an address of its own

// of is what is kept of an instance, the zero value at first.
func (s *slot[T]) of(a *attached) *T {
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
