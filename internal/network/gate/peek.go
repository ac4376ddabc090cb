package gate

import (
	"bytes"
	"errors"
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
	// proxied says that it is a request as proxies get them: the host that it
	// names is not the one that is connected to.
	proxied bool
}

// open says that it can still become anything.
func (f first) open() bool { return f.kind == undecided || f.kind == doubtful }

// peek reads until it is clear what the client speaks and whom it wants to
// reach, or until that has taken too long. It waits for the first byte, however
// long that takes, since with some protocols the server speaks first. What was
// read is kept for the next reader.
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

// classify tells what some first bytes are the beginning of. What is plain
// stays plain, whatever follows: from then on the gate does not look.
func classify(head []byte) first {
	switch {
	case len(head) == 0:
		return first{}
	case head[0] == tlshello.RecordHandshake:
		return classifyTLS(head)
	case head[0] == tlshello.RecordAlert || head[0] == tlshello.RecordCipher:
		return classifyPrelude(head)
	case head[0]&0x80 != 0 && head[0] != 0x85 && head[0] != 0xa0:
		return classifyOld(head)
	}
	return classifyHTTP(head)
}

func classifyTLS(head []byte) first {
	name, err := helloName(head)
	switch {
	case errors.Is(err, tlshello.ErrMore):
		return first{}
	case err != nil:
		return first{kind: odd, why: "its TLS handshake is malformed: " + err.Error()}
	}
	return first{kind: tlsHello, name: name}
}

// classifyPrelude recognises an alert, or the announcement of a cipher, in clear
// and before the handshake that it belongs to. Some servers skip them, and take
// the ClientHello that follows.
func classifyPrelude(head []byte) first {
	switch {
	case len(head) < 5:
		return first{}
	case head[3] == 0 && (head[4] == 1 || head[4] == 2):
		return first{kind: odd, why: "it begins with a TLS record that has no place before a handshake"}
	}
	return first{kind: plain}
}

// classifyOld recognises the form of ClientHello that servers of old accept
// besides their own: two bytes of length, then type and version.
func classifyOld(head []byte) first {
	switch {
	case len(head) > 2 && head[2] != 1:
		return first{kind: plain}
	case len(head) < 5:
		return first{kind: doubtful}
	case head[3] == 3 && head[4] <= 4 || head[3] == 0 && head[4] == 2:
		return first{kind: odd, why: "it begins with a handshake of SSL 2, which cannot say for which host it is"}
	}
	return first{kind: plain}
}

// classifyHTTP finds requests, by the first line: some servers take any word for
// a method. Servers ignore empty lines before it.
func classifyHTTP(head []byte) first {
	rest := bytes.TrimLeft(head, "\r\n")
	line, _, whole := bytes.Cut(trimSpaces(rest), []byte("\n"))
	switch {
	case len(line) == 0:
		return first{}
	case !beginsRequest(line):
		return first{kind: plain}
	case !whole:
		return classifyPart(line)
	case !bytes.Contains(bytes.ToUpper(line), []byte("HTTP/")):
		return first{kind: plain} // also HTTP 0.9, which names no host
	}
	end := headEnd(rest)
	if end < 0 {
		return first{}
	}
	name, proxied, err := requestHost(rest[:end])
	if err != nil {
		return first{kind: odd, proxied: proxied, why: "its HTTP request is malformed: " + err.Error()}
	}
	return first{kind: httpRequest, name: name, proxied: proxied}
}

// classifyPart is for a line that is not there to its end. One that no usual
// client begins a request with is not held back for that.
func classifyPart(line []byte) first {
	method := firstWord(line)
	switch {
	case !isMethod(method) && len(line) >= lineMost:
		return first{kind: plain} // a server that takes such words takes no such lines
	case !isMethod(method) || len(method) > methodMost || isGit(line):
		return first{kind: doubtful}
	}
	return first{}
}
