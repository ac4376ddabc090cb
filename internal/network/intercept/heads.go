package intercept

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
)

// heads is an HTTP/1 connection whose requests are looked at as they came,
// before net/http reads them. net/http repairs some shapes silently (two equal
// Content-Lengths, Transfer-Encoding beside Content-Length); a client that
// sends them wants two servers to disagree on where a request ends. What goes
// out is written anew and has one meaning; refusing is for the record and for
// the rules.
//
// A bad head is not handed on. In its place the server reads a harmless one, so
// that the handler can answer in words, and after it nothing.
type heads struct {
	net.Conn
	client *client
	from   *bufio.Reader
	most   int // of a head's bytes

	read  func(*heads, []byte) (int, error) // what comes next
	part  []byte                            // of a line or head that is not whole yet
	ready []byte                            // to be handed on before anything else
	left  int64                             // of a body or chunk

	lock   sync.Mutex
	shapes []shape // of requests that the handler has not seen
}

// substitute is read by the server where a head was bad.
const substitute = "GET / HTTP/1.1\r\nHost: refused.invalid\r\nConnection: close\r\n\r\n"

func newHeads(c *client, conn net.Conn) *heads {
	// The server has its own limit, and an answer for what is above it; it counts
	// a little differently.
	most := c.owner.limits.HeaderBytes + 8<<10
	c.heads = &heads{Conn: conn, client: c, from: bufio.NewReader(conn), most: most, read: (*heads).readHead}
	return c.heads
}

func (h *heads) CloseWrite() error { return closeWrite(h.Conn) }

// Read hands on what may be read. It is called by one goroutine at a time, and
// again after a deadline has passed: what was read of a line until then is kept.
func (h *heads) Read(p []byte) (int, error) {
	for len(p) > 0 {
		if len(h.ready) > 0 {
			n := copy(p, h.ready)
			h.ready = h.ready[n:]
			return n, nil
		}
		if n, err := h.read(h, p); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

// next is the shape of the request that the handler has now.
func (h *heads) next() shape {
	h.lock.Lock()
	defer h.lock.Unlock()
	if len(h.shapes) == 0 {
		return shape{bad: "the request was not looked at"}
	}
	s := h.shapes[0]
	h.shapes = h.shapes[1:]
	return s
}

// readHead gathers a whole head and hands it on.
func (h *heads) readHead([]byte) (int, error) {
	for {
		start := bytes.LastIndexByte(h.part, '\n') + 1 // where a deadline may have cut in
		if err := h.gatherLine(); err != nil {
			return 0, h.cut(err)
		}
		line := h.part[start:]
		switch {
		case len(h.part) == len(line) && (string(line) == "\r\n" || string(line) == "\n"):
			h.part = h.part[:0] // old clients send one after a body
		case len(h.part) == len(line) && badRequestLine(line) != "":
			return 0, h.hand(shape{bad: badRequestLine(line)})
		case len(h.part) > h.most:
			h.ready, h.read = h.part, (*heads).readNothing // the server says 431
			return 0, nil
		case string(line) == "\r\n" || string(line) == "\n":
			return 0, h.hand(shapeOf(h.part))
		}
	}
}

// gatherLine adds to part until it ends in a line feed. It does not wait for the
// end of a line that cannot be HTTP.
func (h *heads) gatherLine() error {
	for {
		if len(h.part) == 0 {
			if first, err := h.from.Peek(1); err != nil {
				return err
			} else if !isToken(first[0]) && first[0] != '\r' && first[0] != '\n' {
				return errNotHTTP
			}
		}
		some, err := h.from.ReadSlice('\n')
		h.part = append(h.part, some...)
		if err != bufio.ErrBufferFull || len(h.part) > h.most {
			if err == bufio.ErrBufferFull {
				err = nil
			}
			return err
		}
	}
}

// cut is what is made of an end, or a deadline, within a head.
func (h *heads) cut(err error) error {
	if err == errNotHTTP {
		return h.hand(shape{bad: "this is not HTTP"})
	}
	if err == io.EOF && len(h.part) > 0 {
		h.ready, h.part, h.read = h.part, nil, (*heads).readNothing
		return nil
	}
	return err
}

// hand gives the server a head, and says what comes after it.
func (h *heads) hand(s shape) error {
	h.lock.Lock()
	h.shapes = append(h.shapes, s)
	h.lock.Unlock()
	h.ready, h.part = h.part, nil
	switch {
	case s.bad != "":
		h.ready, h.read = []byte(substitute), (*heads).readNothing
	case s.upgrade, s.connect:
		h.read = (*heads).readRaw
	case s.chunked:
		h.read = (*heads).readChunkSize
	case s.length > 0:
		h.left, h.read = s.length, (*heads).readBody
	default:
		h.read = (*heads).readHead
	}
	return nil
}

var errNotHTTP = errors.New("not HTTP")

// The rest of what heads reads: bodies, to know where the next head begins.

func (h *heads) readNothing([]byte) (int, error) { return 0, io.EOF }

// readRaw is after a request for a WebSocket or a tunnel, the last of its
// connection: if the server agrees, no HTTP follows; if not, the handler closes.
func (h *heads) readRaw(p []byte) (int, error) { return h.from.Read(p) }

// readBody hands on a body of known length.
func (h *heads) readBody(p []byte) (int, error) {
	n, err := h.some(p)
	if h.left == 0 {
		h.read = (*heads).readHead
	}
	return n, err
}

func (h *heads) some(p []byte) (int, error) {
	n, err := h.from.Read(p[:min(int64(len(p)), h.left)])
	h.left -= int64(n)
	return n, err
}

// longestChunkLine is net/http's as well.
const longestChunkLine = 4096

func (h *heads) readChunkSize([]byte) (int, error) {
	line, err := h.wholeLine()
	if err != nil {
		return 0, err
	}
	size, good := chunkSize(line)
	if !good {
		h.read = (*heads).readNothing // the server sees the body cut off
		return 0, nil
	}
	h.ready, h.left, h.read = line, size+2, (*heads).readChunk
	if size == 0 {
		h.read = (*heads).readTrailer
	}
	return 0, nil
}

// readChunk hands on a chunk and the line break after it, which net/http checks.
func (h *heads) readChunk(p []byte) (int, error) {
	n, err := h.some(p)
	if h.left == 0 {
		h.read = (*heads).readChunkSize
	}
	return n, err
}

// readTrailer hands on lines until an empty one.
func (h *heads) readTrailer([]byte) (int, error) {
	line, err := h.wholeLine()
	if err != nil {
		return 0, err
	}
	h.ready = line
	switch {
	case string(line) == "\r\n":
		h.read = (*heads).readHead
	case !bytes.HasSuffix(line, []byte("\r\n")):
		h.ready, h.read = nil, (*heads).readNothing
	}
	return 0, nil
}

// wholeLine returns a line when all of it is there. One that is too long is
// returned cut, which nothing takes for good.
func (h *heads) wholeLine() ([]byte, error) {
	for {
		some, err := h.from.ReadSlice('\n')
		h.part = append(h.part, some...)
		if err == nil || err == bufio.ErrBufferFull && len(h.part) > longestChunkLine {
			line := h.part
			h.part = nil
			return line, nil
		}
		if err != bufio.ErrBufferFull {
			return nil, err
		}
	}
}

// chunkSize reads a chunk's size strictly: hexadecimal digits and nothing else.
// Extensions have no use but to hide something in.
func chunkSize(line []byte) (int64, bool) {
	digits, whole := strings.CutSuffix(string(line), "\r\n")
	if !whole || digits == "" || strings.Trim(digits, "0123456789abcdefABCDEF") != "" {
		return 0, false
	}
	size, err := strconv.ParseInt(digits, 16, 62)
	return size, err == nil
}
