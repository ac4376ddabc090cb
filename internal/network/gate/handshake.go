package gate

import (
	"errors"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/tlshello"
)

var (
	errOther = errors.New("it names another host than before")
	errLong  = errors.New("it does not come to an end")
)

// handshake follows a client's side of a TLS handshake for as long as it is in
// clear. A server can ask for a second ClientHello (HelloRetryRequest), and a
// client can bring that about. Some servers take the name from that one: it has
// to be the name that was judged.
//
// Nothing is held back to be looked at. A message does nothing before its end is
// there, so it is enough that what ends a wrong one does not go out.
type handshake struct {
	name string // that was judged
	said string // by the latest ClientHello

	header  [tlshello.HeaderSize]byte // of the record that is being read
	has     int                       // bytes of it
	left    int                       // bytes of its body that are to come
	message []byte                    // that is being read
	spent   int                       // bytes since the first ClientHello

	begun  bool // there was one ClientHello
	cipher bool // encryption was announced
	early  bool // the server may skip encrypted records, and await another hello
	over   bool // nothing in clear can follow
}

// look follows some bytes more.
func (h *handshake) look(data []byte) error {
	for len(data) > 0 && !h.over {
		n, step := min(h.left, len(data)), h.inBody
		if h.left == 0 {
			n, step = min(len(h.header)-h.has, len(data)), h.inHeader
		}
		if h.kind() != tlshello.RecordData {
			h.spent += n
		}
		if err := step(data[:n]); err != nil {
			return err
		}
		if h.begun && h.spent > peekMost {
			return errLong
		}
		data = data[n:]
	}
	return nil
}

func (h *handshake) kind() byte { return h.header[0] }

func (h *handshake) inHeader(data []byte) error {
	h.has += copy(h.header[h.has:], data)
	if h.has < len(h.header) {
		return nil
	}
	h.has, h.left = 0, tlshello.RecordLength(h.header[:])
	switch h.kind() {
	case tlshello.RecordData:
		h.over = !h.early
	case tlshello.RecordCipher:
		h.cipher = true
	case tlshello.RecordHandshake, tlshello.RecordAlert, tlshello.RecordHeartbeat:
	default:
		return tlshello.ErrRecord
	}
	return nil
}

// inBody joins what records carry of messages. Other records may lie between the
// parts of one: some servers skip them.
func (h *handshake) inBody(data []byte) error {
	h.left -= len(data)
	if h.kind() != tlshello.RecordHandshake {
		return nil
	}
	h.message = append(h.message, data...)
	for len(h.message) > 0 {
		// The client's cipher is announced before a second hello as well, in TLS
		// 1.3. What is encrypted may look like the beginning of one: then data
		// follows before it is there to its end.
		if h.cipher && h.message[0] != tlshello.ClientHello {
			h.over = true
			return nil
		}
		if !tlshello.Whole(h.message) {
			return nil
		}
		if err := h.next(); err != nil {
			return err
		}
	}
	h.message = nil
	return nil
}

// next deals with a message that is there to its end.
func (h *handshake) next() error {
	size := tlshello.MessageSize(h.message)
	whole := h.message[:size]
	h.message = h.message[size:]
	if whole[0] != tlshello.ClientHello {
		return nil
	}
	extensions, err := tlshello.Extensions(whole[4:])
	if err != nil {
		return err
	}
	name, err := tlshello.FindName(extensions)
	if err != nil {
		return err
	}
	h.said = canonical(name)
	if h.said != h.name {
		return errOther
	}
	h.early = tlshello.HasExtension(extensions, tlshello.ExtEarlyData)
	if !h.begun {
		h.begun, h.spent = true, len(h.message)
	}
	return nil
}

var errSeen = errors.New("all that is in clear was seen")

// sendHandshake relays what a client says that was judged by its ClientHello, for
// as long as another can follow. It says whether the rest is to be relayed.
func (c *relay) sendHandshake(said first) bool {
	h := &handshake{name: said.name}
	if err := h.look(c.box.head); err != nil {
		c.turnAway(said, c.explainChange(h, err))
		return false
	}
	if !c.sendRest() {
		return false
	}
	return h.over || c.followHandshake(said, h)
}

func (c *relay) followHandshake(said first, h *handshake) bool {
	var wrong error
	err := c.box.eachRead(c.gate, func(data []byte) error {
		if wrong = h.look(data); wrong != nil {
			return wrong
		}
		err := c.gate.up.pace(c.ctx, data, c.writeWorld)
		if err == nil && h.over {
			return errSeen
		}
		return err
	})
	switch {
	case wrong != nil:
		c.turnAway(said, c.explainChange(h, wrong))
	case err == nil || err == errSeen:
		return true // where it has ended, the next read sees that, too
	default:
		c.cut()
	}
	return false
}

// explainChange is the verdict on a handshake that does not go on as it began. No rule
// could allow that.
func (c *relay) explainChange(h *handshake, err error) forkbox.NetVerdict {
	v := forkbox.NetVerdict{Target: c.target(), Why: "its TLS handshake is malformed: " + err.Error()}
	if err != errOther {
		return v
	}
	v.Why = "its TLS handshake says first that it is for " + hostOrNone(h.name) + ", and then that it is for " + hostOrNone(h.said)
	if h.said != "" {
		v.Target.Host = h.said
	}
	return v
}

func hostOrNone(name string) string {
	if name == "" {
		return "no host by name"
	}
	return quote(name)
}
