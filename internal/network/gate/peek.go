package gate

import (
	"slices"
	"time"

	"github.com/forkbox/forkbox/internal/network/tlshello"
)

// kind is what a client speaks, as far as its first bytes tell.
type kind int

const (
	undecided kind = iota
	plain          // something that names no host, as ssh
	tlsHello
	httpRequest
	odd // what servers may understand as one of these, and the gate does not
	// doubtful is undecided, but hardly a handshake or a request: it is not held
	// back, and looked at further.
	doubtful
)

const (
	peekMost = 64 << 10
	giveUp   = peekMost + 4<<10
	// peekTime is how long a client's first words are held back while they could
	// still become anything.
	peekTime = 3 * time.Second
	// glanceTime is for connections that are allowed whatever they are for: they
	// must not suffer from being looked at.
	glanceTime = time.Second
)

// first is what a client says first.
type first struct {
	kind kind
	name string // that it says it wants to reach; empty if it does not say
	why  string // it is odd
	// proxied says that it is a request as proxies get them: for whom it is, is
	// not who is connected to.
	proxied bool
}

// open says that it can still become anything.
func (f first) open() bool { return f.kind == undecided || f.kind == doubtful }

// peek reads until it is clear what the client speaks and whom it wants to
// reach, or until that has taken too long. It waits for the first byte, however
// long that takes, since with some protocols the server speaks first. All that
// was read is read again by whoever reads next.
func peek(conn *boxConn) (first, error) {
	conn.awaitFirst()
	return conn.readHead(peekTime, classify)
}

// peekOn goes on reading what peek could not make out: some protocols begin with
// a few letters and then wait for an answer.
func peekOn(conn *boxConn) (first, error) {
	said, err := conn.readHead(0, classify)
	if said.open() && len(conn.head) >= giveUp {
		said = first{kind: odd, why: "it did not say for which host it is in its first 64 KiB"}
	}
	return said, err
}

// glance is peek for connections that are allowed whatever they are for. What is
// not clear soon is nothing special.
func glance(conn *boxConn) (first, error) {
	conn.awaitFirst()
	said, err := conn.readHead(glanceTime, func(head []byte) first {
		if !likely(head) {
			return first{kind: plain}
		}
		return classify(head)
	})
	if said.open() || said.kind == odd {
		said.kind = plain
	}
	return said, err
}

// likely says whether some first bytes are those of most clients that say whom
// they want to reach.
func likely(head []byte) bool {
	if len(head) == 0 || head[0] == tlshello.RecordHandshake {
		return true
	}
	for _, method := range []string{"GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "OPTIONS ", "PATCH ", "CONNECT "} {
		n := min(len(method), len(head))
		if string(head[:n]) == method[:n] {
			return true
		}
	}
	return false
}

// readHead reads until it is decided what the head is, or the time is over; with
// no time, until one piece more is there. It fails only if nothing comes. Most
// clients say it all at once, so that the time is not even looked at.
func (b *boxConn) readHead(within time.Duration, decide func(head []byte) first) (first, error) {
	for timed := false; ; {
		err := b.readMore()
		said := decide(b.head)
		switch {
		case said.kind != undecided:
			return said, nil
		case err != nil && (len(b.head) == 0 || within == 0):
			return said, err
		case err != nil || within == 0 || len(b.head) >= peekMost:
			return said, nil
		}
		if !timed {
			timed = true
			b.SetReadDeadline(time.Now().Add(within))
			defer b.SetReadDeadline(time.Time{})
		}
	}
}

// readMore reads a piece ahead.
func (b *boxConn) readMore() error {
	if len(b.head) == cap(b.head) {
		b.head = slices.Grow(b.head, max(2<<10, len(b.head)))
	}
	n, err := b.TCPConn.Read(b.head[len(b.head):cap(b.head)])
	b.head = b.head[:len(b.head)+n]
	return err
}
