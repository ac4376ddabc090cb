package network

import (
	"context"
)

// flush returns when what came until now is written, or ctx is over.
func (r *recorder) flush(ctx context.Context) {
	r.mu.Lock()
	upTo := r.first + int64(len(r.waiting))
	r.mu.Unlock()
	for {
		wrote := r.until(upTo)
		if wrote == nil {
			return
		}
		select {
		case <-wrote:
		case <-ctx.Done():
			return
		}
	}
}

// until is what to wait for until so many are written, nil when they are.
func (r *recorder) until(upTo int64) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.writing || r.written >= upTo && len(r.folds.kept) == 0 {
		return nil
	}
	r.wake(true)
	return r.wrote
}

// end has what waits be tried once: gates that are being closed wait for those
// who wait here, and a disk that is full must not keep a daemon from ending. It
// can be repeated, as close can.
func (r *recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ending {
		r.ending = true
		close(r.ends)
	}
}

// close writes what waits and takes no more.
func (r *recorder) close() {
	r.end()
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.closes)
	}
	r.mu.Unlock()
	for {
		r.mu.Lock()
		writing, wrote := r.writing, r.wrote
		r.mu.Unlock()
		if !writing {
			return
		}
		<-wrote
	}
}
