// Package tlshello reads how a TLS connection begins: the records, and the name
// that a ClientHello asks for (RFC 8446). It is the one reader of what boxes say
// first, for the gate, which relays it, and for tunnels through a proxy: two that
// read a hello differently would be a way out.
package tlshello

import (
	"encoding/binary"
	"errors"
)

// The kinds of records, which are a record's first byte.
const (
	RecordCipher    = 0x14
	RecordAlert     = 0x15
	RecordHandshake = 0x16
	RecordData      = 0x17
	RecordHeartbeat = 0x18
)

// The kinds of messages in a handshake, which are a message's first byte.
const (
	ClientHello = 1
	ServerHello = 2
)

// Extensions of a ClientHello.
const (
	extServerName = 0
	ExtEarlyData  = 42
)

const (
	HeaderSize = 5           // of a record
	RecordMost = 16384 + 256 // bytes that one carries
)

var (
	ErrMore   = errors.New("not all of it is there")
	ErrRecord = errors.New("a record is not one of a handshake")
	ErrHello  = errors.New("it is not a ClientHello")
	ErrNames  = errors.New("it names several hosts")
)

// RecordLength is how many bytes a record carries, by its header.
func RecordLength(header []byte) int { return int(binary.BigEndian.Uint16(header[3:])) }

// Name finds the server's name in a TLS ClientHello, which may be spread over
// records, of most bytes. With encrypted ClientHello that is the outer one: the
// only one that who relays it can know. Empty: it names none.
func Name(head []byte, most int) (string, error) {
	message, err := handshakeBytes(head)
	if err != nil {
		return "", err
	}
	if len(message) < 4 {
		return "", ErrMore
	}
	if message[0] != ClientHello {
		return "", ErrHello
	}
	if MessageSize(message) > 4+most {
		return "", ErrHello
	}
	if !Whole(message) {
		return "", ErrMore
	}
	extensions, err := Extensions(message[4:MessageSize(message)])
	if err != nil {
		return "", err
	}
	return FindName(extensions)
}

// handshakeBytes joins what records carry of the first message. Their version is
// not looked at: some servers take any.
func handshakeBytes(head []byte) (message []byte, err error) {
	for len(head) > 0 {
		if head[0] != RecordHandshake {
			return nil, ErrRecord
		}
		if len(head) < HeaderSize {
			return message, nil
		}
		size := RecordLength(head)
		if size == 0 || size > RecordMost {
			return nil, ErrRecord
		}
		body := head[HeaderSize:]
		if len(body) < size {
			return append(message, body...), nil
		}
		message, head = append(message, body[:size]...), body[size:]
		if Whole(message) {
			break
		}
	}
	return message, nil
}

// Whole says whether a message is there to its end: what follows in the stream
// may be anything.
func Whole(message []byte) bool {
	return len(message) >= 4 && len(message) >= MessageSize(message)
}

// MessageSize is how long a message is, with its type and length.
func MessageSize(message []byte) int {
	return 4 + (int(message[1])<<16 | int(message[2])<<8 | int(message[3]))
}

// Extensions are those of a ClientHello, without its type and length. It skips version, random, session, cipher suites and compression.
func Extensions(body []byte) ([]byte, error) {
	if len(body) < 34 {
		return nil, ErrHello
	}
	rest, ok := body[34:], true
	for _, width := range []int{1, 2, 1} {
		if _, rest, ok = vector(rest, width); !ok {
			return nil, ErrHello
		}
	}
	if len(rest) == 0 {
		return nil, nil // before there were extensions
	}
	extensions, rest, ok := vector(rest, 2)
	if !ok || len(rest) != 0 {
		return nil, ErrHello
	}
	return extensions, nil
}

// FindName is the server's name among extensions, as the client wrote it.
func FindName(extensions []byte) (string, error) {
	name, found := "", false
	for len(extensions) > 0 {
		if len(extensions) < 4 {
			return "", ErrHello
		}
		which := binary.BigEndian.Uint16(extensions)
		data, rest, ok := vector(extensions[2:], 2)
		if !ok {
			return "", ErrHello
		}
		extensions = rest
		if which != extServerName {
			continue
		}
		if found {
			return "", ErrNames // servers may take either
		}
		found = true
		var err error
		if name, err = serverName(data); err != nil {
			return "", err
		}
	}
	return name, nil
}

// HasExtension looks for one among extensions that FindName could read.
func HasExtension(extensions []byte, wanted uint16) bool {
	for len(extensions) >= 4 {
		if binary.BigEndian.Uint16(extensions) == wanted {
			return true
		}
		_, extensions, _ = vector(extensions[2:], 2)
	}
	return false
}

// serverName reads the list of names, of which only one may be there.
func serverName(data []byte) (string, error) {
	list, rest, ok := vector(data, 2)
	if !ok || len(rest) != 0 || len(list) < 1 || list[0] != 0 {
		return "", ErrHello
	}
	name, rest, ok := vector(list[1:], 2)
	if !ok || len(name) == 0 {
		return "", ErrHello
	}
	if len(rest) != 0 {
		return "", ErrNames
	}
	return string(name), nil
}

// vector takes bytes whose length comes first, in width bytes.
func vector(b []byte, width int) (data, rest []byte, ok bool) {
	if len(b) < width {
		return nil, nil, false
	}
	size := 0
	for _, c := range b[:width] {
		size = size<<8 | int(c)
	}
	b = b[width:]
	if len(b) < size {
		return nil, nil, false
	}
	return b[:size], b[size:], true
}
