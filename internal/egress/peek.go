package egress

import (
	"bytes"
	"errors"
	"slices"
	"time"
)

// kind is what a client speaks, as far as its first bytes tell.
type kind int

const (
	undecided kind = iota
	plain          // something that names no host, as ssh
	tlsHello
	httpRequest
	odd // what servers may understand as one of these, and the gate does not
)

const (
	peekMost = 64 << 10
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
}

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
	if said.kind == undecided && len(conn.head) >= peekMost {
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
	if said.kind == undecided || said.kind == odd {
		said.kind = plain
	}
	return said, err
}

// likely says whether some first bytes are those of most clients that say whom
// they want to reach.
func likely(head []byte) bool {
	if len(head) == 0 || head[0] == recordHandshake {
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
// no time, until one piece more is there. It fails only if nothing comes.
func (b *boxConn) readHead(within time.Duration, decide func(head []byte) first) (first, error) {
	if within > 0 {
		b.SetReadDeadline(time.Now().Add(within))
		defer b.SetReadDeadline(time.Time{})
	}
	for {
		if len(b.head) == cap(b.head) {
			b.head = slices.Grow(b.head, max(2<<10, len(b.head)))
		}
		n, err := b.TCPConn.Read(b.head[len(b.head):cap(b.head)])
		b.head = b.head[:len(b.head)+n]
		said := decide(b.head)
		switch {
		case said.kind != undecided:
			return said, nil
		case err != nil && (len(b.head) == 0 || within == 0):
			return said, err
		case err != nil || within == 0 || len(b.head) >= peekMost:
			return said, nil
		}
	}
}

// classify tells what some first bytes are the beginning of.
func classify(head []byte) first {
	switch {
	case len(head) == 0:
		return first{}
	case head[0] == recordHandshake:
		return classifyTLS(head)
	case isOldHello(head):
		return first{kind: odd, why: "it begins with a handshake of SSL 2, which cannot say for which host it is"}
	}
	return classifyHTTP(head)
}

func classifyTLS(head []byte) first {
	if len(head) > 1 && head[1] != 3 {
		return first{kind: plain}
	}
	name, err := helloName(head)
	switch {
	case errors.Is(err, errMore):
		return first{}
	case err != nil:
		return first{kind: odd, why: "its TLS handshake is malformed: " + err.Error()}
	}
	return first{kind: tlsHello, name: name}
}

// isOldHello recognises the form of ClientHello that servers of old accept
// besides their own: two bytes of length, then type and version.
func isOldHello(head []byte) bool {
	return len(head) >= 5 && head[0]&0x80 != 0 && head[2] == 1 && (head[3] == 3 && head[4] <= 4 || head[3] == 0 && head[4] == 2)
}

// isGit says whether a line begins as git's own protocol does, which has no end
// of line that one could wait for.
func isGit(line []byte) bool {
	return len(line) >= 8 && string(line[4:8]) == "git-" && bytes.Trim(line[:4], "0123456789abcdef") == nil
}

// classifyHTTP finds requests. Servers ignore empty lines before one.
func classifyHTTP(head []byte) first {
	rest := bytes.TrimLeft(head, "\r\n")
	if len(rest) == 0 {
		return first{}
	}
	line, _, whole := bytes.Cut(rest, []byte("\n"))
	switch {
	case !beginsRequest(line) || isGit(line):
		return first{kind: plain}
	case !whole:
		return first{}
	case !bytes.Contains(bytes.ToUpper(line), []byte("HTTP/")):
		return first{kind: plain} // also HTTP 0.9, which names no host
	}
	end := headEnd(rest)
	if end < 0 {
		return first{}
	}
	name, err := requestHost(rest[:end])
	if err != nil {
		return first{kind: odd, why: "its HTTP request is malformed: " + err.Error()}
	}
	return first{kind: httpRequest, name: name}
}
