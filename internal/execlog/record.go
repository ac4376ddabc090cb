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
