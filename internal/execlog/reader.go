package execlog

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/forkbox/forkbox"
)

// How often a log that does not grow is looked at. Polling, because a log may
// be read by several people while inotify watches are few.
const (
	pollFirst = 20 * time.Millisecond
	pollLast  = 100 * time.Millisecond
)

// Read calls yield for the output in a log, in order, in pieces of at most 32
// KiB. With follow it waits for more until the log has its end, or ended says
// that there is no writer any more and everything was read. A torn or
// overwritten tail ends the log; it is not an error.
func Read(ctx context.Context, path string, follow bool, ended func() bool, yield func(forkbox.LogRecord) error) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	p := &parser{src: f}
	for wait := pollFirst; ; wait = min(wait*2, pollLast) {
		// Asked before reading: what was written before it ended is then read.
		last := !follow || ended != nil && ended()
		before := p.off
		if err := p.all(ctx, yield); err != nil {
			return err
		}
		if last || p.found {
			return nil
		}
		if p.off > before {
			wait = pollFirst
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// End finds how the exec of a log ended and what was kept of its output. It
// is false for a log without an end: the exec runs, or its box died under it.
func End(path string) (forkbox.Exit, forkbox.Output, bool) {
	f, err := open(path)
	if err != nil {
		return forkbox.Exit{}, forkbox.Output{}, false
	}
	defer f.Close()
	p := &parser{src: f, quiet: true}
	err = p.all(context.Background(), nil)
	return p.last.Exit, p.last.Output, err == nil && p.found
}

// Tail is the last bytes of a log, as they lie in it, with the heads of records
// between what was written: enough to look for words in.
func Tail(path string, size int64) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-size)
	return io.ReadAll(io.NewSectionReader(f, from, size))
}

// all yields what there is.
func (p *parser) all(ctx context.Context, yield func(forkbox.LogRecord) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, err := p.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return forkbox.Wrap("read the log", err)
		}
		if len(rec.Data) == 0 {
			continue
		}
		if err := yield(rec); err != nil {
			return err
		}
	}
}

func open(path string) (*os.File, error) {
	const op = "read the log"
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, forkbox.Errorf(forkbox.NotFound, op, "no output of this exec was kept")
	}
	if err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	return f, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

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
