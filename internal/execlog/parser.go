package execlog

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/forkbox/forkbox"
)

// parser goes through a log from its start. At the end of the file it stops
// and may be asked again when the file has grown. It holds one buffer of fixed
// size, whatever the log claims.
type parser struct {
	src   io.ReaderAt
	off   int64 // where buf begins in the file
	buf   []byte
	room  [headerSize + maxChunk]byte
	rec   header // the record that is being read
	left  int64  // what is still to come of it
	quiet bool   // pass over output without reading it
	found bool   // an end record was read
	last  ending // the latest of them
}

// next takes one step: it returns the next piece of output, or a record
// without data where the log has something else. io.EOF means: no more for
// now. A stream that does not exist means that the rest is not a log; there it
// is io.EOF for good.
func (p *parser) next() (forkbox.LogRecord, error) {
	if p.left == 0 {
		if err := p.header(); err != nil {
			return forkbox.LogRecord{}, err
		}
	}
	switch {
	case p.rec.stream == end:
		return forkbox.LogRecord{}, p.end()
	case p.left == 0 || p.quiet:
		p.skip(p.left)
		p.left = 0
		return forkbox.LogRecord{}, nil
	}
	return p.data()
}

func (p *parser) header() error {
	if err := p.fill(headerSize); err != nil {
		return err
	}
	rec := parseHeader(p.buf)
	if rec.stream != Stdout && rec.stream != Stderr && rec.stream != end {
		return io.EOF
	}
	p.rec, p.left = rec, rec.length
	p.take(headerSize)
	return nil
}

// data returns what there is of the record, at most one chunk. A torn record
// gives what was written of it.
func (p *parser) data() (forkbox.LogRecord, error) {
	if err := p.fill(1); err != nil {
		return forkbox.LogRecord{}, err
	}
	n := min(int64(len(p.buf)), p.left, maxChunk)
	rec := forkbox.LogRecord{Stream: p.rec.stream.String(), Time: p.rec.time, Data: p.take(n)}
	p.left -= n
	return rec, nil
}

// end reads an end record, and passes over one that is none.
func (p *parser) end() error {
	if p.rec.length > maxEnd {
		p.skip(p.left)
		p.left = 0
		return nil
	}
	if err := p.fill(int(p.left)); err != nil {
		return err
	}
	var e ending
	if json.Unmarshal(p.take(p.left), &e) == nil {
		p.found, p.last = true, e
	}
	p.left = 0
	return nil
}

// fill has at least n bytes in the buffer, or returns io.EOF.
func (p *parser) fill(n int) error {
	if len(p.buf) >= n {
		return nil
	}
	have := copy(p.room[:], p.buf)
	got, err := p.src.ReadAt(p.room[have:], p.off+int64(have))
	p.buf = p.room[:have+got]
	if len(p.buf) >= n {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.EOF
	}
	return err
}

// take hands out n bytes of the buffer as a copy: the caller may keep it.
func (p *parser) take(n int64) []byte {
	b := append([]byte(nil), p.buf[:n]...)
	p.skip(n)
	return b
}

func (p *parser) skip(n int64) {
	p.buf = p.buf[min(n, int64(len(p.buf))):]
	p.off += n
}
