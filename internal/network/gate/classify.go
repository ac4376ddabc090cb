package gate

import (
	"bytes"
	"errors"

	"github.com/forkbox/forkbox/internal/network/tlshello"
)

// classify tells what some first bytes are the beginning of. What is plain stays
// plain, whatever follows: from then on nobody looks.
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
