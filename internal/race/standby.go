package race

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
)

// Boxes of approaches that are judged stand by as they are: what their steps
// have started may be needed when they are measured, or checked once more. But
// where another one of the race waits for room on the host they have to make it,
// or it would wait for them, and they for it.

// roomEvery is how often it is looked what keeps a command from beginning.
const roomEvery = 50 * time.Millisecond

// withRoom does something that may have to wait for room.
func (r *race) withRoom(do func()) {
	done := make(chan struct{})
	go func() {
		for wait(r.trial, done, roomEvery) {
			if r.roomIsShort() {
				r.makeRoom()
			}
		}
	}()
	do()
	close(done)
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
	boxes := slices.DeleteFunc(slices.Clone(r.tries), func(b *lane) bool { return b == nil || !b.judged })
	r.mu.Unlock()
	for _, b := range boxes {
		b.makeRoom(r.trial)
	}
}

// makeRoom stops the box, unless something is run in it, or was begun there by
// an earlier daemon.
func (b *lane) makeRoom(ctx context.Context) {
	if !b.use.TryLock() {
		return
	}
	defer b.use.Unlock()
	began := func(x forkbox.Exec) bool { return x.Exit == nil }
	if b.rests || slices.ContainsFunc(slices.Collect(maps.Values(b.known)), began) {
		return
	}
	b.meter.update(b)
	occupied := b.occupied(ctx)
	b.mu.Lock()
	b.cut = b.cut || occupied
	b.mu.Unlock()
	b.halt()
	b.rests = true
}

// isCut says whether what the steps had started was ended to make room.
func (b *lane) isCut() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cut
}
