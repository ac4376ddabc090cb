package execstream

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
)

// Kind is what a frame is. The first three are data of that [Channel].
type Kind byte

const (
	Data0  Kind = iota
	Data1       // of stdout
	Data2       // of stderr
	Ack         // Channel and Offset: everything before was taken
	EOF         // to the source: nothing more comes on stdin
	Broken      // from the source: the exec reads no more
	End         // from the source: all output was sent
	Refuse      // to the source: the reader wants no more of Channel
	Leave       // to the source: the reader goes, and does not come back
	Ousted      // from the source: another reader has taken this one's place
	beyond      // no kind
)

// Frame is what is said over a link. Data is good until the next frame is read.
type Frame struct {
	Kind    Kind
	Data    []byte
	Channel Channel // of an Ack and a Refuse
	Offset  int64
}

func (k Kind) hasOffset() bool { return k == Ack || k == Refuse }

const (
	headerSize = 5
	ackSize    = 9
	// MaxData is how much one frame carries.
	MaxData = 32 << 10
)

// Link is one end. Send may be called from several goroutines, Receive from one.
type Link struct {
	conn net.Conn
	mu   sync.Mutex
	out  []byte
	in   []byte
	head [headerSize]byte
}

// NewLink takes over conn.
func NewLink(conn net.Conn) *Link { return &Link{conn: conn} }

// Close makes both directions fail.
func (l *Link) Close() error { return l.conn.Close() }

// Send writes a frame, whose data must not be more than [MaxData].
func (l *Link) Send(f Frame) error {
	var ack [ackSize]byte
	body := f.Data
	if f.Kind.hasOffset() {
		ack[0] = byte(f.Channel)
		binary.BigEndian.PutUint64(ack[1:], uint64(f.Offset))
		body = ack[:]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = binary.BigEndian.AppendUint32(append(l.out[:0], byte(f.Kind)), uint32(len(body)))
	l.out = append(l.out, body...)
	_, err := l.conn.Write(l.out)
	return err
}

// SendData sends what there is of a channel, in as many frames as it takes.
func (l *Link) SendData(ch Channel, p []byte) error {
	for len(p) > 0 {
		n := min(len(p), MaxData)
		if err := l.Send(Frame{Kind: Kind(ch), Data: p[:n]}); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// Receive reads a frame.
func (l *Link) Receive() (Frame, error) {
	if _, err := io.ReadFull(l.conn, l.head[:]); err != nil {
		return Frame{}, err
	}
	f := Frame{Kind: Kind(l.head[0])}
	size := binary.BigEndian.Uint32(l.head[1:])
	if err := f.check(size); err != nil {
		return Frame{}, err
	}
	if l.in == nil {
		l.in = make([]byte, MaxData)
	}
	f.Data = l.in[:size]
	if _, err := io.ReadFull(l.conn, f.Data); err != nil {
		return Frame{}, err
	}
	if f.Kind.hasOffset() {
		f.Channel, f.Offset = Channel(f.Data[0]), int64(binary.BigEndian.Uint64(f.Data[1:]))
		if f.Channel > Stderr || f.Offset < 0 {
			return Frame{}, fmt.Errorf("an acknowledgement of channel %d up to %d", f.Channel, f.Offset)
		}
	}
	return f, nil
}

// check refuses what no end of ours sends.
func (f Frame) check(size uint32) error {
	switch {
	case f.Kind >= beyond:
	case f.Kind <= Data2 && size <= MaxData:
		return nil
	case f.Kind.hasOffset() && size == ackSize:
		return nil
	case f.Kind > Ack && !f.Kind.hasOffset() && size == 0:
		return nil
	}
	return fmt.Errorf("a frame of kind %d with %d bytes", f.Kind, size)
}
