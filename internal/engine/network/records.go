package network

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// How records of connections are written: as many at once, no later than that,
// and so many waiting at most. A box can make a hundred thousand attempts in a
// second; a transaction for each, or memory for all, would be a way to hurt the
// host.
const (
	recordBatch = 256
	recordDelay = 100 * time.Millisecond
	RecordRoom  = 4096
	recordRetry = time.Second
)

// recorder writes records of connections, in the order in which they come. What
// a box was allowed to do waits for its record to have room: no connection is
// made that cannot be written down. What was refused does not wait, since
// nothing comes of it; where there is no room, such as are alike become one.
//
// Its goroutine lives as long as there is something to write.
type recorder struct {
	save func(context.Context, []forkbox.Conn) error
	told func([]forkbox.Conn) // of what was written
	log  *slog.Logger

	mu      sync.Mutex
	waiting []forkbox.Conn
	first   int64           // how many came before waiting[0]
	place   map[int64]int64 // by id: how many came before it
	folds   folds
	writing bool
	ending  bool          // what cannot be written is given up
	ends    chan struct{} // closed with ending
	closed  bool          // and nothing more is taken
	closes  chan struct{} // closed with closed
	hurry   chan struct{} // has what waits be written now
	wrote   chan struct{} // closed, and replaced, with each batch and when nothing is left
	written int64         // how many of those that came are written
}

func newRecorder(save func(context.Context, []forkbox.Conn) error, told func([]forkbox.Conn), log *slog.Logger) *recorder {
	return &recorder{
		save: save, told: told, log: log, place: map[int64]int64{},
		ends: make(chan struct{}), closes: make(chan struct{}), hurry: make(chan struct{}, 1), wrote: make(chan struct{}),
	}
}

// put takes a record. It waits only where it says so above.
func (r *recorder) put(c forkbox.Conn) {
	for {
		room := r.tryPut(c)
		if room == nil {
			return
		}
		select {
		case <-room:
		case <-r.closes:
			return // the daemon ends; the next one counts what was open as lost
		}
	}
}

// tryPut returns what to wait for when there is no room.
func (r *recorder) tryPut(c forkbox.Conn) (room <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, again := r.place[c.ID]
	switch {
	case r.closed:
		return nil
	case again: // it ended before its beginning was written
		r.waiting[at-r.first] = c
		return nil
	case len(r.waiting) < RecordRoom:
		r.place[c.ID] = r.first + int64(len(r.waiting))
		r.waiting = append(r.waiting, c)
	case c.State == forkbox.ConnRefused:
		r.folds.add(c)
	default:
		return r.wrote
	}
	r.wake(len(r.waiting) >= recordBatch)
	return nil
}

// wake has a goroutine write. The caller holds mu.
func (r *recorder) wake(now bool) {
	if !r.writing {
		r.writing = true
		go r.write()
	}
	if now {
		select {
		case r.hurry <- struct{}{}:
		default:
		}
	}
}

// write writes until nothing is left.
func (r *recorder) write() {
	for {
		select {
		case <-time.After(recordDelay):
		case <-r.hurry:
		case <-r.ends:
		}
		for more := true; more; {
			batch, upTo := r.next()
			if batch == nil {
				return
			}
			r.saveAll(batch, upTo)
			more = r.plenty()
		}
	}
}

// next takes what is to be written now, nil when there is nothing: then the
// writer is over.
func (r *recorder) next() (batch []forkbox.Conn, upTo int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(recordBatch, len(r.waiting))
	batch = append(r.folds.take(), r.waiting[:n]...)
	for _, c := range r.waiting[:n] {
		delete(r.place, c.ID)
	}
	r.waiting, r.first = r.waiting[n:], r.first+int64(n)
	if len(r.waiting) == 0 {
		r.waiting = nil // the memory of a flood goes with it
	}
	if r.writing = len(batch) > 0; !r.writing {
		r.signal()
	}
	return batch, r.first
}

// saveAll writes a batch, and tries again until it is written: the record is a
// promise. Only the end of the daemon ends that.
func (r *recorder) saveAll(batch []forkbox.Conn, upTo int64) {
	for {
		err := r.save(context.Background(), batch)
		if err == nil {
			r.told(batch)
			break
		}
		r.log.Error("cannot record connections", "records", len(batch), "error", err)
		if r.isEnding() {
			break
		}
		select {
		case <-time.After(recordRetry):
		case <-r.ends:
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written = upTo
	r.signal()
}

// signal lets go of those who wait for something to be written. The caller
// holds mu.
func (r *recorder) signal() {
	close(r.wrote)
	r.wrote = make(chan struct{})
}

func (r *recorder) isEnding() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ending
}

// plenty says whether to go on at once.
func (r *recorder) plenty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ending || len(r.waiting) >= recordBatch
}
