package intercept

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/forkbox/forkbox/internal/network/tlshello"
)

const (
	randomAt  = tlshello.HeaderSize + 4 + 2 // in a server's hello: after its length and version
	mostHello = 64 << 10

	errHello = "TLS in the tunnel does not begin as it should"
)

// retryHello is a server's hello that asks for another of the client's, up to the
// number by which it is known. What is before that is not looked at.
var retryHello = strings.Repeat("\x00", randomAt) +
	"\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"

// readRecord takes one whole record, of any kind.
func readRecord(from *bufio.Reader) ([]byte, error) {
	header, err := from.Peek(tlshello.HeaderSize)
	if err != nil {
		return nil, err
	}
	if length := tlshello.RecordLength(header); header[1] != 3 || length == 0 || length > tlshello.RecordMost {
		return nil, errors.New(errHello)
	}
	record := make([]byte, tlshello.HeaderSize+tlshello.RecordLength(header))
	_, err = io.ReadFull(from, record)
	return record, err
}

// readHello takes a ClientHello, in as many records as it comes in and no byte
// more: what follows in the same record would not be looked at.
func readHello(from *bufio.Reader) (name string, hello []byte, why string) {
	var message []byte
	for need := 4; len(message) < need; {
		record, err := readRecord(from)
		if err != nil || record[0] != tlshello.RecordHandshake || len(hello) > mostHello {
			return "", nil, errHello
		}
		hello, message = append(hello, record...), append(message, record[tlshello.HeaderSize:]...)
		if len(message) >= 4 {
			need = tlshello.MessageSize(message)
		}
		if message[0] != tlshello.ClientHello || len(message) > need && len(message) >= 4 {
			return "", nil, errHello
		}
	}
	name, err := tlshello.Name(hello, mostHello)
	if err != nil {
		return "", nil, errHello
	}
	return bareHost(name), hello, ""
}
