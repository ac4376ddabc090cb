package egress

import (
	"bytes"
	"errors"
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
	peekTime = 10 * time.Second
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
// reach. It waits as long as it takes for the first byte, as servers do that
// speak first, but not for the rest: a client that stops in the middle would
// otherwise be let through without having said it. All that was read is read
// again by whoever reads next.
func peek(conn *boxConn) (first, error) {
	said, err := conn.readHead(peekTime, classify)
	switch {
	case err != nil || said.kind != undecided:
		return said, err
	case len(conn.head) >= peekMost:
		return first{kind: odd, why: "it did not say for which host it is in its first 64 KiB"}, nil
	}
	return first{kind: odd, why: "it stopped before it had said for which host it is"}, nil
}

// glance is peek for connections that are allowed whatever they are for. What is
// not clear soon is nothing special.
func glance(conn *boxConn) (first, error) {
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

// readHead reads until it is decided what the head is, or it is too large, or
// the time after the first byte is over. It fails only if nothing comes at all.
func (b *boxConn) readHead(within time.Duration, decide func(head []byte) first) (first, error) {
	b.awaitFirst()
	b.SetReadDeadline(time.Now().Add(within))
	defer b.SetReadDeadline(time.Time{})
	head := make([]byte, 0, 2<<10)
	for len(head) < peekMost {
		if len(head) == cap(head) {
			head = append(head, make([]byte, len(head))...)[:len(head)]
		}
		n, err := b.TCPConn.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		b.head = head
		said := decide(head)
		switch {
		case said.kind != undecided:
			return said, nil
		case err != nil && len(head) == 0:
			return said, err
		case err != nil:
			return said, nil
		}
	}
	return first{}, nil
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

// classifyHTTP finds requests. Servers ignore empty lines before one.
func classifyHTTP(head []byte) first {
	rest := bytes.TrimLeft(head, "\r\n")
	if len(rest) == 0 {
		return first{}
	}
	line, _, whole := bytes.Cut(rest, []byte("\n"))
	switch {
	case !beginsRequest(line):
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
