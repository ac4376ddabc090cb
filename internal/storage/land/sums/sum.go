// Package sums says what a file holds in 32 bytes, without reading its holes.
package sums

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"hash"
)

// zeroBlock is in what pieces zeros are looked for.
const zeroBlock = 64 << 10

var zeros [zeroBlock]byte

// Hash is the sum of what a file holds. An empty disk image of terabytes
// must not take hours to sum, so zeros are counted, not hashed; and a file has
// the same sum whether they are written or a hole, as a copy may have them the
// other way.
//
// A file is cut into blocks of 64 KiB, of which those that are all zero count. With
// none of these, the sum is the SHA-256 of the file: nearly always. Else it is
// the SHA-512/256, so that no file without them can be made to have it too, of
// a list: for each run of other blocks "d", its length and its SHA-256, for each
// run of zero blocks "z" and its length. What is short of a block at the end
// counts as data.
type Hash struct {
	run   hash.Hash // of the bytes since the last zeros
	n     int64     // how many these are
	zeros int64     // since then
	list  hash.Hash // nil as long as nothing is in it
	block []byte    // that is not full
}

// New begins a sum.
func New() *Hash {
	return &Hash{run: sha256.New(), block: make([]byte, 0, zeroBlock)}
}

// OfBytes is the sum of a file that holds b.
func OfBytes(b []byte) [32]byte {
	s := New()
	s.Write(b)
	return s.Sum()
}

// Write takes what comes next. It never fails.
func (s *Hash) Write(p []byte) (int, error) {
	all := len(p)
	for len(p) > 0 {
		if len(s.block) == 0 && len(p) >= zeroBlock {
			s.take(p[:zeroBlock])
			p = p[zeroBlock:]
			continue
		}
		k := min(len(p), zeroBlock-len(s.block))
		s.block = append(s.block, p[:k]...)
		p = p[k:]
		if len(s.block) == zeroBlock {
			s.take(s.block)
			s.block = s.block[:0]
		}
	}
	return all, nil
}

// Hole takes n zeros.
func (s *Hash) Hole(n int64) {
	if k := min(n, int64(zeroBlock-len(s.block))); len(s.block) > 0 && k > 0 {
		s.Write(zeros[:k])
		n -= k
	}
	s.zeros += n / zeroBlock * zeroBlock
	s.Write(zeros[:n%zeroBlock])
}

func (s *Hash) take(block []byte) {
	if bytes.Equal(block, zeros[:]) {
		s.zeros += zeroBlock
		return
	}
	s.data(block)
}

func (s *Hash) data(p []byte) {
	s.enlist()
	s.run.Write(p)
	s.n += int64(len(p))
}

// enlist puts the zeros that came into the list, and what came before them.
func (s *Hash) enlist() {
	if s.zeros == 0 {
		return
	}
	if s.list == nil {
		s.list = sha512.New512_256()
	}
	s.endRun()
	s.part('z', s.zeros, nil)
	s.zeros = 0
}

func (s *Hash) endRun() {
	if s.n > 0 {
		s.part('d', s.n, s.run.Sum(nil))
		s.run.Reset()
		s.n = 0
	}
}

func (s *Hash) part(kind byte, length int64, sum []byte) {
	s.list.Write(binary.BigEndian.AppendUint64([]byte{kind}, uint64(length)))
	s.list.Write(sum)
}

// Sum ends it.
func (s *Hash) Sum() (sum [32]byte) {
	if len(s.block) > 0 {
		s.data(s.block)
	}
	s.enlist()
	if s.list == nil {
		return [32]byte(s.run.Sum(nil))
	}
	s.endRun()
	return [32]byte(s.list.Sum(nil))
}
