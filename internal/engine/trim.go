package engine

import "github.com/forkbox/forkbox"

// trimmer is a [Logs] that can cut off what is more than init would have kept.
type trimmer interface {
	Trim(box, exec string, limit int64) (cut bool, err error)
}

// trimLogs holds the logs of a box to their limit. Init does, but root in a box
// can take the file that init writes to out of its hands and write on.
func (e *Engine) trimLogs(w *ward) {
	logs, ok := e.logs.(trimmer)
	if !ok {
		return
	}
	w.h.mu.Lock()
	limits := map[string]int64{}
	for id, x := range w.a.execs {
		limits[id] = e.logCap
		if v, has := x.exec.Policy.Of(forkbox.Kept); has {
			limits[id] = v
		}
	}
	w.h.mu.Unlock()
	for id, limit := range limits {
		if cut, err := logs.Trim(w.h.id, id, limit); cut || err != nil {
			e.log.Warn("a log was written to by others than init", "box", w.h.id, "exec", id, "error", err)
		}
	}
}
