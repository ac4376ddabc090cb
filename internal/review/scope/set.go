package scope

import (
	"strings"
)

// set is a set of bytes: what a [class] of a pattern matches.
type set [4]uint64

func (s *set) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

func (s *set) add(b byte) { s[b>>6] |= 1 << (b & 63) }

func (s *set) addRange(from, to byte) {
	for b := int(from); b <= int(to); b++ {
		s.add(byte(b))
	}
}

func (s *set) invert() {
	for i := range s {
		s[i] = ^s[i]
	}
}

// parseSet reads a class, from its bracket on, and says how long it is: 0 if
// it has no end or names a class that is not known.
func parseSet(text string) (*set, int) {
	p := setParser{text: text, i: 1}
	inverted := p.i < len(text) && (text[p.i] == '!' || text[p.i] == '^')
	if inverted {
		p.i++
	}
	// A bracket that comes first is a member, not the end.
	for first := true; first || p.i >= len(text) || text[p.i] != ']'; first = false {
		if !p.member() {
			return nil, 0
		}
	}
	if inverted {
		p.set.invert()
	}
	return &p.set, p.i + 1
}

type setParser struct {
	text string
	i    int
	last byte // a range can start from it; 0 if none can
	set  set
}

// member reads one byte, range or named class. It is false at the end of the
// text, which a class must not reach.
func (p *setParser) member() bool {
	rest := p.text[p.i:]
	switch {
	case rest == "":
		return false
	case rest[0] == '-' && p.last != 0 && len(rest) > 1 && rest[1] != ']':
		return p.rangeEnd()
	case strings.HasPrefix(rest, "[:"):
		return p.readNamed()
	}
	b, ok := p.byte()
	p.set.add(b)
	p.last = b
	return ok
}

// byte reads one byte, which may be escaped.
func (p *setParser) byte() (byte, bool) {
	if p.i < len(p.text) && p.text[p.i] == '\\' {
		p.i++
	}
	if p.i >= len(p.text) {
		return 0, false
	}
	p.i++
	return p.text[p.i-1], true
}

func (p *setParser) rangeEnd() bool {
	p.i++
	to, ok := p.byte()
	p.set.addRange(p.last, to)
	p.last = 0
	return ok
}

// readNamed reads [:alpha:] and the like. What only begins like one is an
// ordinary bracket.
func (p *setParser) readNamed() bool {
	inner := p.text[p.i+2:]
	end := strings.IndexByte(inner, ']')
	if end < 0 {
		return false
	}
	name, ok := strings.CutSuffix(inner[:end], ":")
	if !ok {
		p.set.add('[')
		p.last = '['
		p.i++
		return true
	}
	p.i += 2 + end + 1
	p.last = 0
	return p.set.addNamed(name)
}

// named are the classes of bytes that patterns can name, as git knows them:
// of ASCII only, and with no vertical tab or form feed among the spaces.
var named = map[string]func(b byte) bool{
	"alnum":  func(b byte) bool { return isAlpha(b) || isDigit(b) },
	"alpha":  isAlpha,
	"blank":  func(b byte) bool { return b == ' ' || b == '\t' },
	"cntrl":  func(b byte) bool { return b < 0x20 || b == 0x7f },
	"digit":  isDigit,
	"graph":  func(b byte) bool { return b > ' ' && b < 0x7f },
	"lower":  isLower,
	"print":  func(b byte) bool { return b >= ' ' && b < 0x7f },
	"punct":  func(b byte) bool { return b > ' ' && b < 0x7f && !isAlpha(b) && !isDigit(b) },
	"space":  func(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' },
	"upper":  isUpper,
	"xdigit": func(b byte) bool { return isDigit(b) || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F' },
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
func isLower(b byte) bool { return b >= 'a' && b <= 'z' }
func isUpper(b byte) bool { return b >= 'A' && b <= 'Z' }
func isAlpha(b byte) bool { return isLower(b) || isUpper(b) }

// addNamed is false for a name that is not known.
func (s *set) addNamed(name string) bool {
	in, ok := named[name]
	if !ok {
		return false
	}
	for b := range 256 {
		if in(byte(b)) {
			s.add(byte(b))
		}
	}
	return true
}
