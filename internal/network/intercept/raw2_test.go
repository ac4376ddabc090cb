package intercept

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strconv"

	"golang.org/x/net/http2/hpack"
)

// frames is an HTTP/2 connection on which a test says every frame itself.
type frames struct {
	net.Conn
	w       *world
	last    uint32 // stream
	decoder *hpack.Decoder
}

type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

// What RFC 9113 calls them.
const (
	preface         = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	headersFrame    = 1
	resetFrame      = 3
	settingsFrame   = 4
	windowFrame     = 8
	endOfBoth       = 0x5 // of the stream, and of the headers
	windowSetting   = 4
	untoldWindow    = 65535
	lengthOfFrame   = 9
	lengthOfSetting = 6
)

func newFrames(w *world, conn net.Conn) *frames {
	return &frames{Conn: conn, w: w, decoder: hpack.NewDecoder(4096, nil)}
}

// raw2 connects as a program in the box, and lets the gate send window bytes of
// each answer.
func (w *world) raw2(window uint32) *frames {
	w.Helper()
	conn, err := net.Dial("tcp", w.listener.Addr().String())
	must(w, err)
	w.Cleanup(func() { conn.Close() })
	secure := tls.Client(conn, &tls.Config{RootCAs: w.roots, ServerName: testHost, NextProtos: []string{"h2"}})
	must(w, secure.Handshake())
	_, err = io.WriteString(secure, preface)
	must(w, err)
	f := newFrames(w, secure)
	f.send(frame{kind: settingsFrame, payload: binary.BigEndian.AppendUint32([]byte{0, windowSetting}, window)})
	return f
}

func (f *frames) send(each frame) {
	f.w.Helper()
	head := binary.BigEndian.AppendUint32(nil, uint32(len(each.payload))<<8|uint32(each.kind))
	head = binary.BigEndian.AppendUint32(append(head, each.flags), each.stream)
	_, err := f.Write(append(head, each.payload...))
	must(f.w, err)
}

func (f *frames) next() frame {
	f.w.Helper()
	head := make([]byte, lengthOfFrame)
	_, err := io.ReadFull(f, head)
	must(f.w, err)
	start := binary.BigEndian.Uint32(head)
	each := frame{kind: byte(start), flags: head[4], stream: binary.BigEndian.Uint32(head[5:]), payload: make([]byte, start>>8)}
	_, err = io.ReadFull(f, each.payload)
	must(f.w, err)
	return each
}

// ask begins a request and returns its stream.
func (f *frames) ask(method, path string, header ...string) uint32 {
	f.w.Helper()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	fields := append([]string{":method", method, ":scheme", "https", ":authority", testHost + ":" + strconv.Itoa(f.w.port()), ":path", path}, header...)
	for n := 0; n < len(fields); n += 2 {
		must(f.w, e.WriteField(hpack.HeaderField{Name: fields[n], Value: fields[n+1]}))
	}
	stream := 2*f.last + 1
	f.last++
	f.send(frame{kind: headersFrame, flags: endOfBoth, stream: stream, payload: block.Bytes()})
	return stream
}

// status waits for an answer's; 0 if the stream was reset instead.
func (f *frames) status(stream uint32) int {
	f.w.Helper()
	for {
		each := f.next()
		if each.kind == headersFrame {
			fields, err := f.decoder.DecodeFull(each.payload)
			must(f.w, err)
			if each.stream == stream {
				status, err := strconv.Atoi(fields[0].Value)
				must(f.w, err)
				return status
			}
		}
		if each.kind == resetFrame && each.stream == stream {
			return 0
		}
	}
}

// windows reads how much may be sent to the other end: on a stream, and over
// all streams of the connection.
func (f *frames) windows() (stream, whole uint32) {
	f.w.Helper()
	stream, whole = untoldWindow, untoldWindow
	for {
		each := f.next()
		switch each.kind {
		case settingsFrame:
			for p := each.payload; len(p) >= lengthOfSetting; p = p[lengthOfSetting:] {
				if binary.BigEndian.Uint16(p) == windowSetting {
					stream = binary.BigEndian.Uint32(p[2:])
				}
			}
		case windowFrame: // comes after the settings
			return stream, whole + binary.BigEndian.Uint32(each.payload)
		}
	}
}

// plainPage is a server's.
func plainPage(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") }
