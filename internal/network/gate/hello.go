package gate

import (
	"encoding/binary"
	"errors"
	"strings"
)

const (
	recordCipher    = 0x14
	recordAlert     = 0x15
	recordHandshake = 0x16
	clientHello     = 1
	extServerName   = 0
	recordMost      = 16384 + 256
)

var (
	errMore   = errors.New("not all of it is there")
	errRecord = errors.New("a record is not one of a handshake")
	errHello  = errors.New("it is not a ClientHello")
	errNames  = errors.New("it names several hosts")
)

// helloName finds the server's name in a TLS ClientHello, which may be spread
// over records. With encrypted ClientHello that is the outer one: the only one
// that a relay can read. It is empty where none is named.
func helloName(head []byte) (string, error) {
	message, err := handshakeBytes(head)
	if err != nil {
		return "", err
	}
	if len(message) < 4 {
		return "", errMore
	}
	if message[0] != clientHello {
		return "", errHello
	}
	size := messageSize(message)
	if size > 4+peekMost {
		return "", errHello
	}
	if len(message) < size {
		return "", errMore
	}
	return parseHello(message[4:size])
}

// handshakeBytes joins what records carry of the first message. Their version is
// not looked at: some servers take any.
func handshakeBytes(head []byte) (message []byte, err error) {
	for len(head) > 0 {
		if head[0] != recordHandshake {
			return nil, errRecord
		}
		if len(head) < 5 {
			return message, nil
		}
		size := int(binary.BigEndian.Uint16(head[3:]))
		if size == 0 || size > recordMost {
			return nil, errRecord
		}
		body := head[5:]
		if len(body) < size {
			return append(message, body...), nil
		}
		message, head = append(message, body[:size]...), body[size:]
		if done(message) {
			break
		}
	}
	return message, nil
}

// done says whether a message is there to its end: what follows in the stream
// may be anything.
func done(message []byte) bool {
	return len(message) >= 4 && len(message) >= messageSize(message)
}

// messageSize is how long a message is, with its type and length.
func messageSize(message []byte) int {
	return 4 + (int(message[1])<<16 | int(message[2])<<8 | int(message[3]))
}

func parseHello(body []byte) (string, error) {
	extensions, err := helloExtensions(body)
	if err != nil {
		return "", err
	}
	return findName(extensions)
}

// helloExtensions skips version, random, session, cipher suites and compression.
func helloExtensions(body []byte) ([]byte, error) {
	if len(body) < 34 {
		return nil, errHello
	}
	rest, ok := body[34:], true
	for _, width := range []int{1, 2, 1} {
		if _, rest, ok = vector(rest, width); !ok {
			return nil, errHello
		}
	}
	if len(rest) == 0 {
		return nil, nil // before there were extensions
	}
	extensions, rest, ok := vector(rest, 2)
	if !ok || len(rest) != 0 {
		return nil, errHello
	}
	return extensions, nil
}

func findName(extensions []byte) (string, error) {
	name, found := "", false
	for len(extensions) > 0 {
		if len(extensions) < 4 {
			return "", errHello
		}
		which := binary.BigEndian.Uint16(extensions)
		data, rest, ok := vector(extensions[2:], 2)
		if !ok {
			return "", errHello
		}
		extensions = rest
		if which != extServerName {
			continue
		}
		if found {
			return "", errNames // servers may take either
		}
		found = true
		var err error
		if name, err = serverName(data); err != nil {
			return "", err
		}
	}
	return name, nil
}

// hasExtension looks for one among extensions that findName could read.
func hasExtension(extensions []byte, wanted uint16) bool {
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
		return "", errHello
	}
	name, rest, ok := vector(list[1:], 2)
	if !ok || len(name) == 0 {
		return "", errHello
	}
	if len(rest) != 0 {
		return "", errNames
	}
	return canonical(string(name)), nil
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

// canonical is a name as pins and policies have it.
func canonical(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }
