package boxfiles

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/forkbox/forkbox"
)

// Reader is a file of a box that is open. It reads from where Seek was.
type Reader struct {
	Info
	call    *Call
	offset  int64
	pending []byte
	asked   bool // for what comes from offset on
}

var _ io.ReadSeekCloser = (*Reader)(nil)

// Open opens a file of a box for reading.
func Open(ctx context.Context, conn net.Conn, op string, req Request) (*Reader, error) {
	c, err := Begin(ctx, conn, op, req)
	if err != nil {
		return nil, err
	}
	info, err := c.info()
	if err != nil {
		c.Close()
		return nil, err
	}
	return &Reader{Info: info, call: c}, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.call.Close() }

// Seek chooses where the next Read begins. What was asked for before is read and
// thrown away, which is little: it is a whole span only where a client wants several.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.offset
	case io.SeekEnd:
		offset += r.Size
	}
	if offset < 0 {
		return 0, forkbox.Errorf(forkbox.Invalid, r.call.op, "it begins before the file does")
	}
	if offset == r.offset {
		return offset, nil
	}
	for r.pending = nil; r.asked; r.pending = nil {
		if err := r.more(); err != nil && err != io.EOF {
			return 0, err
		}
	}
	r.offset = offset
	return offset, nil
}

// span is how much is asked for at once: no more comes than is read.
const span = 4 << 20

// Read reads on.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.pending) == 0 {
		if !r.asked {
			if !r.Endless && r.offset >= r.Size {
				return 0, io.EOF
			}
			if err := r.call.say(Span{Offset: r.offset, Length: span}); err != nil {
				return 0, err
			}
			r.asked = true
		}
		if err := r.more(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.pending)
	r.pending = r.pending[n:]
	r.offset += int64(n)
	return n, nil
}

// more waits for data, or for the end of what was asked for.
func (r *Reader) more() error {
	kind, body, err := r.call.next()
	if err != nil {
		return err
	}
	switch kind {
	case Data:
		r.pending = body
	case Message: // all of the span has come; an empty one was the end
		var got Span
		if err := r.call.decode(body, &got); err != nil {
			return err
		}
		r.asked = false
		if got.Length == 0 {
			return io.EOF
		}
	default:
		return r.call.lost(errors.New("it ended before the file did"))
	}
	return nil
}
