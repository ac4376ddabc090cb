// Package wire carries JSON messages, and open files with them, over a unix
// socket. The CLI speaks it to the daemon once an exec's connection is
// upgraded, and the daemon speaks it to the init of a box.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// MaxMessage bounds one message. The kernel's own bound on arguments and
// environment together is well below it.
const MaxMessage = 16 << 20

// maxFiles is how many files one message may carry.
const maxFiles = 48

// Conn is one end. Send may be called from several goroutines, Recv from one.
//
// A message is four bytes of length, big endian, then JSON. Files travel with
// the first byte of their message.
type Conn struct {
	conn *net.UnixConn
	send sync.Mutex
	oob  []byte
}

// New takes over conn.
func New(conn *net.UnixConn) *Conn {
	return &Conn{conn: conn, oob: make([]byte, oobSpace)}
}

// Send writes one message. The files are duplicated into the receiver; the
// caller still owns its own.
func (c *Conn) Send(msg any, files ...*os.File) error {
	body, err := json.Marshal(msg)
	if err != nil {
		return err
	}
	if len(body) > MaxMessage || len(files) > maxFiles {
		return fmt.Errorf("message of %d bytes with %d files is too large", len(body), len(files))
	}
	buf := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	buf = append(buf, body...)

	c.send.Lock()
	defer c.send.Unlock()
	n, _, err := c.conn.WriteMsgUnix(buf, rights(files), nil)
	if err == nil && n < len(buf) {
		_, err = c.conn.Write(buf[n:])
	}
	return err
}

// Recv reads one message into msg and returns the files that came with it.
// The caller owns them.
func (c *Conn) Recv(msg any) ([]*os.File, error) {
	var head [4]byte
	n, oobn, _, _, err := c.conn.ReadMsgUnix(head[:], c.oob)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, io.EOF
	}
	files, err := parseRights(c.oob[:oobn])
	if err != nil {
		return nil, err
	}
	if err := c.body(head[:], n, msg); err != nil {
		for _, f := range files {
			f.Close()
		}
		return nil, err
	}
	return files, nil
}

func (c *Conn) body(head []byte, have int, msg any) error {
	if _, err := io.ReadFull(c.conn, head[have:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head)
	if size > MaxMessage {
		return fmt.Errorf("message of %d bytes is too large", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(c.conn, body); err != nil {
		return err
	}
	return json.Unmarshal(body, msg)
}

// Unix is the socket below, for its credentials and deadlines.
func (c *Conn) Unix() *net.UnixConn { return c.conn }

// Close closes the socket.
func (c *Conn) Close() error { return c.conn.Close() }
