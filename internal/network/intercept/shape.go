package intercept

import (
	"bytes"
	"strconv"
	"strings"
)

// shape is what a raw head looks like.
type shape struct {
	bad            string // why it is refused
	method, target string
	length         int64
	chunked        bool
	upgrade        bool // to a WebSocket; other upgrades are not passed on
	connect        bool // what follows is for another host
}

// shapeOf reads a head, strictly. It ends in an empty line.
func shapeOf(head []byte) shape {
	lines := strings.SplitAfter(string(head), "\n")
	s, fields := shape{}, map[string][]string{}
	if s.bad = badLines(lines); s.bad != "" {
		return s
	}
	words := strings.Split(strings.TrimSuffix(lines[0], "\r\n"), " ")
	s.method, s.target = words[0], words[1]
	for _, line := range lines[1 : len(lines)-2] { // then the empty line, and what is after it
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\r\n"), ":")
		name = strings.ToLower(name)
		fields[name] = append(fields[name], strings.Trim(value, " \t"))
	}
	s.bad = s.frame(fields, words[2] == "HTTP/1.1")
	if s.bad == "" {
		s.bad = badHostField(s.target, fields["host"])
	}
	if s.connect = s.method == "CONNECT"; s.bad == "" && s.connect && (s.chunked || s.length > 0) {
		s.bad = "CONNECT has no body"
	}
	s.upgrade = s.bad == "" && s.method == "GET" && !s.chunked && s.length == 0 && asksForWebSocket(fields)
	return s
}

// badLines refuses lines that servers disagree on: such that end in a line feed
// alone, that continue another, that have a carriage return or a zero within.
func badLines(lines []string) string {
	for i, line := range lines[:len(lines)-1] {
		text, crlf := strings.CutSuffix(line, "\r\n")
		name, _, colon := strings.Cut(text, ":")
		switch {
		case !crlf:
			return "a line of the head does not end in CR LF"
		case strings.ContainsAny(text, "\r\x00"):
			return "a line of the head has a control character in it"
		case i == 0 || i == len(lines)-2:
		case text == "" || text[0] == ' ' || text[0] == '\t':
			return "a line of the head continues the one before"
		case !colon || !isTokenText(name):
			return "a line of the head is no header field"
		}
	}
	return badRequestLine([]byte(lines[0]))
}

// badRequestLine says what is wrong with the first line. It is asked as soon as
// that line is there, so that other protocols are not waited for.
func badRequestLine(line []byte) string {
	words := bytes.Split(bytes.TrimRight(line, "\r\n"), []byte(" "))
	switch {
	case len(words) != 3 || !isTokenText(string(words[0])) || len(words[1]) == 0 || !bytes.HasPrefix(words[2], []byte("HTTP/")):
		return "this is not HTTP"
	case string(words[2]) != "HTTP/1.1" && string(words[2]) != "HTTP/1.0":
		return "this version of HTTP is not spoken here"
	}
	return ""
}

// frame finds where the body ends. There must be one way to tell.
func (s *shape) frame(fields map[string][]string, modern bool) string {
	lengths, codings := fields["content-length"], fields["transfer-encoding"]
	switch {
	case len(lengths) > 0 && len(codings) > 0:
		return "it has both Content-Length and Transfer-Encoding"
	case len(lengths) > 1:
		return "it has more than one Content-Length"
	case len(codings) > 1 || len(codings) == 1 && !strings.EqualFold(codings[0], "chunked"):
		return "its Transfer-Encoding is not just chunked"
	case len(codings) == 1 && !modern:
		return "HTTP/1.0 has no Transfer-Encoding"
	}
	s.chunked = len(codings) == 1
	if len(lengths) == 0 {
		return ""
	}
	n, err := strconv.ParseUint(lengths[0], 10, 62)
	if err != nil || lengths[0][0] == '+' {
		return "its Content-Length is no number"
	}
	s.length = int64(n)
	return ""
}

func asksForWebSocket(fields map[string][]string) bool {
	if len(fields["upgrade"]) != 1 || !strings.EqualFold(fields["upgrade"][0], "websocket") {
		return false
	}
	for _, option := range strings.Split(strings.Join(fields["connection"], ","), ",") {
		if strings.EqualFold(strings.Trim(option, " \t"), "upgrade") {
			return true
		}
	}
	return false
}
