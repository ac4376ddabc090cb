package intercept

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

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
