// Package execlog keeps what an exec wrote. The init of a box writes the log,
// the daemon reads it, also while it grows.
//
// A log is a sequence of records: one byte that names the stream, the time in
// nanoseconds since 1970 (int64), the length of the data (uint32), the data;
// integers are big endian. The last record has stream 'x' and says how the
// exec ended.
//
// The writer's end is open in the box, where root can reach it. So nothing
// that is read here is trusted: not a length, not a stream, not that a record
// is whole.
package execlog

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// Stream says where output came from.
type Stream byte

const (
	Stdout Stream = 'o'
	Stderr Stream = 'e'

	end Stream = 'x'
)

// String is the name that [forkbox.LogRecord] has for it.
func (s Stream) String() string {
	switch s {
	case Stdout:
		return "stdout"
	case Stderr:
		return "stderr"
	case end:
		return "end"
	}
	return "unknown"
}

const (
	headerSize = 1 + 8 + 4
	// maxChunk bounds what is read or written at once.
	maxChunk = 32 << 10
	// maxEnd bounds the last record; a longer one was not written by us.
	maxEnd = 16 << 10
)

// ending is the data of the last record.
type ending struct {
	Exit   forkbox.Exit   `json:"exit"`
	Output forkbox.Output `json:"output"`
}

type header struct {
	stream Stream
	time   time.Time
	length int64
}

func appendHeader(b []byte, s Stream, t time.Time, length int) []byte {
	b = append(b, byte(s))
	b = binary.BigEndian.AppendUint64(b, uint64(t.UnixNano()))
	return binary.BigEndian.AppendUint32(b, uint32(length))
}

func parseHeader(b []byte) header {
	return header{
		stream: Stream(b[0]),
		time:   time.Unix(0, int64(binary.BigEndian.Uint64(b[1:]))),
		length: int64(binary.BigEndian.Uint32(b[9:])),
	}
}

// Writer keeps an exec's output up to a cap. It may be used from several
// goroutines. It never fails the exec: what cannot be kept is counted.
type Writer struct {
	mu     sync.Mutex
	file   *os.File
	good   int64 // where the last whole record ends
	broken bool  // a write failed: the disk is full, or worse
	ended  bool
	out    forkbox.Output
	buf    []byte
}

// NewWriter appends to f, which stays the caller's to close, and keeps at most
// limit bytes of output. A nil f keeps nothing.
func NewWriter(f *os.File, limit int64) *Writer {
	w := &Writer{file: f, out: forkbox.Output{Cap: max(limit, 0)}}
	if f == nil {
		w.broken = true
		return w
	}
	good, err := f.Seek(0, io.SeekEnd)
	w.good, w.broken = good, err != nil
	return w
}

// Write keeps p as far as the cap allows.
func (w *Writer) Write(s Stream, p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for len(p) > 0 {
		chunk := p[:min(len(p), maxChunk)]
		p = p[len(chunk):]
		w.keep(s, now, chunk)
	}
}

func (w *Writer) keep(s Stream, now time.Time, p []byte) {
	n := int(min(int64(len(p)), w.out.Cap-w.out.Kept))
	if w.broken || w.ended {
		n = 0
	}
	if n > 0 && w.append(s, now, p[:n]) != nil {
		// It sticks: a log with a hole in it would read as if it were whole.
		w.broken, n = true, 0
	}
	w.out.Kept += int64(n)
	w.out.Dropped += int64(len(p) - n)
}

// append writes one record with one call, so that a crash tears at most the
// last one. Of a record that did not fit nothing is left, or the record that
// says how the exec ended could not be found behind it.
func (w *Writer) append(s Stream, now time.Time, p []byte) error {
	w.buf = append(appendHeader(w.buf[:0], s, now, len(p)), p...)
	n, err := w.file.Write(w.buf)
	if err == nil {
		w.good += int64(n)
		return nil
	}
	if terr := w.file.Truncate(w.good); terr == nil {
		w.file.Seek(w.good, io.SeekStart)
	}
	return err
}

// End writes how the exec ended. What is written later is dropped.
func (w *Writer) End(exit forkbox.Exit) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil || w.ended {
		return nil
	}
	w.ended = true
	exit.Why = exit.Why[:min(len(exit.Why), maxEnd/8)] // JSON may escape a byte as six
	data, err := json.Marshal(ending{Exit: exit, Output: w.out})
	if err != nil {
		return err
	}
	return w.append(end, time.Now(), data)
}

// Output says how much was kept and how much was not.
func (w *Writer) Output() forkbox.Output {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out
}
