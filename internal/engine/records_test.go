package engine

import (
	"testing"

	"github.com/forkbox/forkbox/internal/engine/network"
)

// An engine ends also with a disk that is full and a gate with many connections.
func TestCloseWithRecordsThatCannotBeWritten(t *testing.T) {
	w := newNetWorld(t)
	b := w.make(CreateSpec{Name: "one"})
	w.exec("one")
	w.nets.gate(b.ID).last = 2 * network.RecordRoom
	w.fuse.mu.Lock()
	w.fuse.blown = true
	w.fuse.mu.Unlock()
	check(t, w.Close(t.Context()))
	w.again(&fuse{})
	if n := len(w.conns("one")); n != 0 {
		t.Errorf("%d were written", n)
	}
	w.nets.gate(b.ID).last = 3
	check(t, w.Close(t.Context()))
	w.again(&fuse{})
	if n := len(w.conns("one")); n != 3 {
		t.Errorf("%d of the last 3 were written", n)
	}
}
