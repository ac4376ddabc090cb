package race

import (
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// keepAfter is how long a change waits for others before it is written. Little
// depends on it: after a crash all of it is found again in the records of the
// boxes. What is not, is written at once.
const keepAfter = 300 * time.Millisecond

// keeping is what of a race is not written yet. The race's mu guards it, but
// for writing, which is held while something is written: what is newer must
// come last.
type keeping struct {
	writing sync.Mutex
	dirty   map[int]bool
	timer   *time.Timer
	ended   bool
}

// keepSoon has an entry written before long. The caller holds mu.
func (r *race) keepSoon(i int) {
	k := &r.keeping
	if k.ended {
		return
	}
	if k.dirty == nil {
		k.dirty = map[int]bool{}
	}
	if k.dirty[i] = true; k.timer == nil {
		k.timer = time.AfterFunc(keepAfter, r.keepEntries)
	}
}

// keepEntries writes what has changed.
func (r *race) keepEntries() {
	if err := r.keepNow(); err != nil && !r.closing() {
		r.log.Error("cannot record what approaches do", "race", r.id, "error", err)
	}
}

func (r *race) keepNow() error {
	k := &r.keeping
	k.writing.Lock()
	defer k.writing.Unlock()
	r.mu.Lock()
	var entries []forkbox.Entry
	if !k.ended {
		for i := range k.dirty {
			entries = append(entries, r.rec.Entries[i])
		}
	}
	k.dirty = nil
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	r.mu.Unlock()
	if len(entries) == 0 {
		return nil
	}
	return r.ledger.SaveEntries(r.aside(), r.id, entries)
}

// keepRace writes all of the record, and with last for the last time.
func (r *race) keepRace(last bool) error {
	k := &r.keeping
	k.writing.Lock()
	defer k.writing.Unlock()
	r.mu.Lock()
	k.dirty, k.ended = nil, k.ended || last
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	rec := r.copied()
	r.mu.Unlock()
	return r.ledger.UpdateRace(r.aside(), rec)
}
