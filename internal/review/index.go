package review

import (
	"iter"
	"math/bits"

	"github.com/forkbox/forkbox"
)

// index finds the numbers of rows by a hash of what is in them: four bytes for
// each, and about as many that are free.
type index struct {
	slots []uint32 // a row's number and one; 0 is free. There are a power of two.
	n     int
}

// at yields the rows that may have a hash, and others.
func (x *index) at(hash uint64) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if len(x.slots) == 0 {
			return
		}
		mask := uint64(len(x.slots) - 1)
		for at := hash & mask; x.slots[at] != 0; at = (at + 1) & mask {
			if !yield(x.slots[at] - 1) {
				return
			}
		}
	}
}

// add takes a row in. hash tells that of any row: to grow they are all sorted in
// again.
func (x *index) add(row uint32, hash func(row uint32) uint64) {
	if x.n*4 >= len(x.slots)*3 {
		old := x.slots
		x.slots = make([]uint32, max(16, 2*len(old)))
		for _, s := range old {
			if s != 0 {
				x.place(s, hash(s-1))
			}
		}
	}
	x.place(row+1, hash(row))
	x.n++
}

func (x *index) place(slot uint32, hash uint64) {
	mask := uint64(len(x.slots) - 1)
	at := hash & mask
	for x.slots[at] != 0 {
		at = (at + 1) & mask
	}
	x.slots[at] = slot
}

// spread makes a hash of an inode's number: those of neighbours are neighbours.
func spread(number uint64) uint64 {
	hi, lo := bits.Mul64(number, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// Inodes are known by number and time. A file can have names that no apply
// ever saw: what is done to it at one shows at all of them. A nil one is empty
// and only read.
type Inodes struct {
	slots []inode // a zero one is free. There are a power of two.
	n     int
	zero  bool // the zero one is in
}

// Add remembers one.
func (s *Inodes) Add(id forkbox.Identity) {
	i := inodeOf(id)
	if i == (inode{}) {
		s.zero = true
		return
	}
	if s.n*3 >= len(s.slots)*2 {
		old := s.slots
		s.slots = make([]inode, max(16, 2*len(old)))
		for _, o := range old {
			if o != (inode{}) {
				s.slots[s.slot(o)] = o
			}
		}
	}
	if at := s.slot(i); s.slots[at] == (inode{}) {
		s.slots[at] = i
		s.n++
	}
}

// slot is where an inode is, or a free one where it would be.
func (s *Inodes) slot(i inode) uint64 {
	mask := uint64(len(s.slots) - 1)
	at := spread(i.number) & mask
	for s.slots[at] != i && s.slots[at] != (inode{}) {
		at = (at + 1) & mask
	}
	return at
}

// Has says whether one is remembered.
func (s *Inodes) Has(id forkbox.Identity) bool {
	i := inodeOf(id)
	switch {
	case s == nil:
		return false
	case i == (inode{}):
		return s.zero
	case s.n == 0:
		return false
	}
	return s.slots[s.slot(i)] == i
}

// hasInode is Has for directories, which live on when something is done in
// them: at any time.
func (s *Inodes) hasInode(number uint64) bool {
	if s == nil || s.n == 0 {
		return s != nil && s.zero && number == 0
	}
	mask := uint64(len(s.slots) - 1)
	for at := spread(number) & mask; s.slots[at] != (inode{}); at = (at + 1) & mask {
		if s.slots[at].number == number {
			return true
		}
	}
	return s.zero && number == 0
}
