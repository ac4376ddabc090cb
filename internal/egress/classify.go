package egress

import (
	"bytes"
	"errors"
)

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
