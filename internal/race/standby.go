package race

import (
	"context"
	"time"
)

// standby is the boxes of approaches that are judged, and stay as they are: what
// their steps have started may be needed when they are measured, or checked once
// more. Where others of the race wait for room they have to make it.
type standby struct {
	boxes []*bench
	watch bool
}

// roomEvery is how often it is looked whether somebody waits for room, as long
// as approaches have not begun.
const roomEvery = 50 * time.Millisecond

// standBy keeps the box of an approach until it is needed again.
func (r *race) standBy(b *bench) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.standby.boxes = append(r.standby.boxes, b)
	if len(r.begun) < len(r.spec.Approaches) {
		r.watchRoom()
	}
}

// watchRoom is called with mu held.
func (r *race) watchRoom() {
	if r.standby.watch {
		return
	}
	r.standby.watch = true
	r.inBackground(func() {
		for r.othersWait() {
			if r.roomIsShort() {
				r.makeRoom()
			}
			if !wait(r.trial, nil, roomEvery) {
				return
			}
		}
	})
}

// othersWait says whether approaches have not begun yet.
func (r *race) othersWait() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.begun) < len(r.spec.Approaches)
}

// roomIsShort says whether something of the owner's waits for the host.
func (r *race) roomIsShort() bool {
	list, err := r.boxes.Queue(r.trial, r.who)
	if err != nil {
		return false
	}
	for _, w := range list {
		if w.What != "" { // of others only their places are told
			return true
		}
	}
	return false
}

// makeRoom stops the boxes that stand by.
func (r *race) makeRoom() {
	r.mu.Lock()
	boxes := r.standby.boxes
	r.standby.boxes = nil
	r.mu.Unlock()
	for _, b := range boxes {
		b.makeRoom(r.trial)
	}
}

// makeRoom stops the box, unless something is run in it that an earlier daemon
// began.
func (b *bench) makeRoom(ctx context.Context) {
	for _, x := range b.known {
		if x.Exit == nil {
			return
		}
	}
	b.meter.look(b)
	ps, err := b.boxes.Processes(ctx, b.who, b.box.ID)
	b.cut = err != nil || len(ps) > 1
	b.halt()
}
