package gate

import (
	"encoding/binary"
	"net/netip"
	"sync"

	"github.com/forkbox/forkbox"
)

// The stand-in addresses, 198.19.0.0/16, have two parts. Teammates keep theirs
// as long as the gate lives; those of refused names are used again, the oldest
// first.
const (
	mateFirst, mateLast   = 1, 4095
	standFirst, standLast = 4096, 65534
	standInLimit          = 8192
	standInNet            = uint32(198)<<24 | uint32(19)<<16
)

// standIn is what a stand-in address stands for.
type standIn struct {
	addr netip.Addr
	name string
	mate bool
	// real is the address that the name has, where the policy does not let it be
	// given out.
	real netip.Addr
	// refused says why, where it is not the name itself.
	refused *forkbox.NetVerdict
}

// standIns gives out addresses for what has none that may be reached.
type standIns struct {
	mu     sync.Mutex
	byName map[string]*standIn
	byAddr map[netip.Addr]*standIn
	order  []*standIn // of refused names, the oldest first
	next   uint32
	mates  uint32
}

func newStandIns() *standIns {
	return &standIns{
		byName: map[string]*standIn{},
		byAddr: map[netip.Addr]*standIn{},
		next:   standFirst,
		mates:  mateFirst,
	}
}

func standInAddr(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, standInNet+n)))
}

// find is what an address stands for.
func (s *standIns) find(addr netip.Addr) (standIn, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.byAddr[addr]; found != nil {
		return *found, true
	}
	return standIn{}, false
}

// giveToRefused gives a refused name an address, the one it has if it has one.
func (s *standIns) giveToRefused(name string, real netip.Addr, why *forkbox.NetVerdict) netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.byName[name]; found != nil {
		found.real, found.refused = real, why
		return found.addr
	}
	if len(s.order) >= standInLimit {
		s.forget(s.order[0])
		s.order = s.order[1:]
	}
	fresh := &standIn{addr: standInAddr(s.next), name: name, real: real, refused: why}
	if s.next++; s.next > standLast {
		s.next = standFirst
	}
	s.order = append(s.order, fresh)
	s.byName[name], s.byAddr[fresh.addr] = fresh, fresh
	return fresh.addr
}

func (s *standIns) forget(old *standIn) {
	delete(s.byName, old.name)
	delete(s.byAddr, old.addr)
}

// giveToMate gives a teammate an address, the one it has if it has one; an
// invalid one when there are too many.
func (s *standIns) giveToMate(name string) netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := "\x00" + name // no name of DNS's: a refused name may be the same
	if found := s.byName[key]; found != nil {
		return found.addr
	}
	if s.mates > mateLast {
		return netip.Addr{}
	}
	fresh := &standIn{addr: standInAddr(s.mates), name: name, mate: true}
	s.mates++
	s.byName[key], s.byAddr[fresh.addr] = fresh, fresh
	return fresh.addr
}

func (s *standIns) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byAddr)
}
