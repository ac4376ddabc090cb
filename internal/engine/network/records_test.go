package network

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
)

// shelfOfRecords is a ledger of connections that can be made to wait or fail.
type shelfOfRecords struct {
	mu      sync.Mutex
	gate    sync.Mutex // held: nothing is written
	saved   map[int64]forkbox.Conn
	order   []int64
	biggest int
	fails   int
	told    int
}

func (s *shelfOfRecords) save(_ context.Context, conns []forkbox.Conn) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails > 0 {
		s.fails--
		return errors.New("disk full")
	}
	s.biggest = max(s.biggest, len(conns))
	for _, c := range conns {
		if _, has := s.saved[c.ID]; !has {
			s.order = append(s.order, c.ID)
		}
		s.saved[c.ID] = c
	}
	return nil
}

func (s *shelfOfRecords) tell(conns []forkbox.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told += len(conns)
}

func newRecords() (*shelfOfRecords, *recorder) {
	s := &shelfOfRecords{saved: map[int64]forkbox.Conn{}}
	return s, newRecorder(s.save, s.tell, slog.New(slog.DiscardHandler))
}

func refusal(id int64, host string) forkbox.Conn {
	return forkbox.Conn{ID: id, Box: "b", State: forkbox.ConnRefused,
		NetVerdict: forkbox.NetVerdict{Target: forkbox.NetTarget{Proto: "tcp", Host: host, Port: 443}}}
}

func opening(id int64) forkbox.Conn { return forkbox.Conn{ID: id, Box: "b", State: forkbox.ConnOpen} }

func TestRecordsAreWrittenInOrder(t *testing.T) {
	s, r := newRecords()
	for id := range int64(1000) {
		r.put(opening(id + 1))
	}
	r.flush(t.Context())
	if len(s.order) != 1000 || s.told != 1000 || s.biggest > recordBatch {
		t.Fatalf("%d written, %d told, %d at once", len(s.order), s.told, s.biggest)
	}
	for i, id := range s.order {
		if id != int64(i+1) {
			t.Fatalf("%d is at %d", id, i)
		}
	}
	r.flush(t.Context()) // nothing is left
	ended := opening(7)
	ended.State = forkbox.ConnClosed
	r.put(ended)
	r.close()
	r.close()
	if s.saved[7].State != forkbox.ConnClosed {
		t.Errorf("got %+v", s.saved[7])
	}
	r.put(opening(2000)) // no caller waits for a daemon that ended
}

// A flood of refusals costs a bounded memory, and none is lost from the count.
func TestFloodOfRefusalsIsBounded(t *testing.T) {
	s, r := newRecords()
	s.gate.Lock() // the disk does not answer
	const all = 100_000
	for id := range int64(all) {
		r.put(refusal(id+1, fmt.Sprintf("h%d.example.com", id%5000)))
	}
	r.mu.Lock()
	waiting, kinds := len(r.waiting), len(r.folds.conns)
	r.mu.Unlock()
	if waiting > RecordRoom || kinds > foldKinds+1 {
		t.Errorf("%d wait, of %d kinds", waiting, kinds)
	}
	s.gate.Unlock()
	r.close()
	sum := 0
	for _, c := range s.saved {
		sum += times(c)
	}
	if sum != all {
		t.Errorf("%d of %d are on record", sum, all)
	}
	// The batch that the disk kept waiting may have taken a first set of folds.
	if len(s.saved) > RecordRoom+recordBatch+2*(foldKinds+1) {
		t.Errorf("%d records", len(s.saved))
	}
}

// What is allowed waits until it can be written down, and is never folded.
func TestAllowedConnectionsWaitForTheirRecord(t *testing.T) {
	s, r := newRecords()
	s.gate.Lock()
	var done sync.WaitGroup
	const all = RecordRoom + 2*recordBatch + 10
	begun := make(chan bool, all)
	for id := range int64(all) {
		done.Go(func() { begun <- true; r.put(opening(id + 1)); r.put(opening(id + 1)) })
	}
	for range all {
		<-begun
	}
	r.mu.Lock()
	if len(r.waiting) > RecordRoom {
		t.Errorf("%d wait", len(r.waiting))
	}
	r.mu.Unlock()
	s.gate.Unlock()
	done.Wait()
	r.close()
	if len(s.saved) != all {
		t.Errorf("%d of %d are on record", len(s.saved), all)
	}
}

func TestWaitingForARecordEndsWithTheDaemon(t *testing.T) {
	s, r := newRecords()
	s.gate.Lock()
	var done sync.WaitGroup
	for id := range int64(RecordRoom + recordBatch + 100) {
		done.Go(func() { r.put(opening(id + 1)) })
	}
	closed := make(chan bool)
	go func() { r.close(); close(closed) }()
	done.Wait()
	s.gate.Unlock()
	<-closed
}

func TestRecordsAreTriedAgain(t *testing.T) {
	s, r := newRecords()
	s.fails = 1
	r.put(opening(1))
	r.flush(t.Context())
	if len(s.saved) != 1 || s.told != 1 {
		t.Errorf("%d written, %d told", len(s.saved), s.told)
	}
	s.fails = 1000 // until the daemon ends, which it can
	r.put(opening(2))
	r.close()
	if len(s.saved) != 1 || s.told != 1 {
		t.Errorf("%d written, %d told", len(s.saved), s.told)
	}
}

func TestAnEndReplacesABeginningThatIsNotWritten(t *testing.T) {
	s, r := newRecords()
	s.gate.Lock()
	for id := range int64(RecordRoom) {
		r.put(opening(id + 1))
	}
	ended := opening(RecordRoom)
	ended.State, ended.In = forkbox.ConnClosed, 5
	r.put(ended) // needs no room
	s.gate.Unlock()
	r.close()
	if got := s.saved[RecordRoom]; got.In != 5 || len(s.saved) != RecordRoom {
		t.Errorf("got %+v of %d", got, len(s.saved))
	}
}
