package gate

import "sync"

// Buffers are for what is under way between the two ends. A connection has one
// only while there is something to copy: thousands can be open and silent. But
// it also has it while the other end does not take what was read, for as long as
// a box likes, so there are smaller ones where many are open: 4096 connections
// have no more than 116 MiB.
var bufferSizes = []struct {
	upTo int64 // open connections
	size int
	pool sync.Pool
}{
	{upTo: 64, size: 256 << 10},
	{upTo: 512, size: 32 << 10},
	{upTo: 1 << 62, size: 8 << 10},
}

// lender has buffers.
type lender interface {
	takeBuffer() *[]byte
	giveBuffer(*[]byte)
}

// takeBuffer lends one, until giveBuffer.
func (g *Gate) takeBuffer() *[]byte {
	open := g.open.Load()
	for i := range bufferSizes {
		if b := &bufferSizes[i]; open <= b.upTo {
			g.lent.Add(int64(b.size))
			if buf, ok := b.pool.Get().(*[]byte); ok {
				return buf
			}
			buf := make([]byte, b.size)
			return &buf
		}
	}
	panic("there is a size for any number")
}

func (g *Gate) giveBuffer(buf *[]byte) {
	g.lent.Add(-int64(len(*buf)))
	for i := range bufferSizes {
		if b := &bufferSizes[i]; b.size == len(*buf) {
			b.pool.Put(buf)
		}
	}
}

// datagrams lends buffers for one each: they cannot be read in parts.
type datagrams struct{ pool sync.Pool }

var datagramBuffers = &datagrams{sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}}

func (d *datagrams) takeBuffer() *[]byte    { return d.pool.Get().(*[]byte) }
func (d *datagrams) giveBuffer(buf *[]byte) { d.pool.Put(buf) }

// fewOpen is how many connections have it quick at the cost of memory.
const fewOpen = 64

// growStack makes room for what the stack of protocols needs, in one step and
// while there is little to move. Else the first packets of a connection find
// their goroutine's stack too small, several times over.
func (g *Gate) growStack() {
	if g.open.Load() <= fewOpen {
		grow()
	}
}

//go:noinline
func grow() {
	var room [12 << 10]byte
	use(&room)
}

//go:noinline
func use(*[12 << 10]byte) {}
