package boxfiles

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Kind is what a frame holds.
type Kind byte

const (
	Message Kind = 'm' // JSON
	Data    Kind = 'd' // bytes of a file or an archive
	End     Kind = 'e' // JSON: how it ended. Nothing comes after it.
	Alive   Kind = 'a' // nothing: the agent lives
)

// MaxFrame bounds what is in a frame. A message is a page of a listing at most.
const MaxFrame = 1 << 20

// DataFrame is how many bytes of a file go into one frame.
const DataFrame = 128 << 10

const headSize = 5 // the kind, and the length as a big endian number

// Frames reads frames from one goroutine, and writes them from any.
type Frames struct {
	in   io.Reader
	out  io.Writer
	send sync.Mutex
	head [headSize]byte
	buf  []byte
}

// NewFrames speaks over a connection.
func NewFrames(conn io.ReadWriter) *Frames { return &Frames{in: conn, out: conn} }

// Next reads a frame. What is in it is there until the next call.
func (f *Frames) Next() (Kind, []byte, error) {
	if _, err := io.ReadFull(f.in, f.head[:]); err != nil {
		return 0, nil, err
	}
	kind, size := Kind(f.head[0]), binary.BigEndian.Uint32(f.head[1:])
	switch kind {
	case Message, Data, End, Alive:
	default:
		return 0, nil, fmt.Errorf("a frame of an unknown kind, %q", byte(kind))
	}
	if size > MaxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes, which is too large", size)
	}
	if cap(f.buf) < int(size) {
		f.buf = make([]byte, max(size, 4096))
	}
	body := f.buf[:size]
	if _, err := io.ReadFull(f.in, body); err != nil {
		return 0, nil, noEOF(err)
	}
	return kind, body, nil
}

// noEOF is an error, where the end is one too.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Put writes a frame.
func (f *Frames) Put(kind Kind, body []byte) error {
	if len(body) > MaxFrame {
		return fmt.Errorf("a frame of %d bytes is too large", len(body))
	}
	f.send.Lock()
	defer f.send.Unlock()
	var head [headSize]byte
	head[0] = byte(kind)
	binary.BigEndian.PutUint32(head[1:], uint32(len(body)))
	if _, err := f.out.Write(head[:]); err != nil {
		return err
	}
	if len(body) == 0 {
		return nil
	}
	_, err := f.out.Write(body)
	return err
}

// Say writes a frame of JSON.
func (f *Frames) Say(kind Kind, doc any) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return f.Put(kind, text)
}

// Write puts bytes into frames of data.
func (f *Frames) Write(p []byte) (n int, err error) {
	for n < len(p) {
		piece := p[n:min(len(p), n+DataFrame)]
		if err := f.Put(Data, piece); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}
