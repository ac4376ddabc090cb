package race

import (
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// hearsay passes on what an exec prints: the last line, and not too often.
type hearsay struct {
	race     *race
	approach string

	mu    sync.Mutex
	lines lastLine
	told  string
	when  time.Time   // that something was told
	later *time.Timer // until what came since is told
}

func (h *hearsay) add(data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines.add(data)
	if h.lines.last == h.told || h.later != nil {
		return
	}
	if left := outputGap - time.Since(h.when); left > 0 {
		h.later = time.AfterFunc(left, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.later = nil
			h.tell()
		})
		return
	}
	h.tell()
}

// tell passes on the last line. The caller holds mu.
func (h *hearsay) tell() {
	if h.lines.last == h.told {
		return
	}
	h.told, h.when = h.lines.last, time.Now()
	h.race.mu.Lock()
	defer h.race.mu.Unlock()
	h.race.tell(forkbox.RaceEvent{Kind: forkbox.RaceOutput, Approach: h.approach, Line: h.told})
}

// end tells what is left.
func (h *hearsay) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.later != nil {
		h.later.Stop()
		h.later = nil
	}
	h.tell()
}
