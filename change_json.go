package forkbox

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// AppendJSON appends a change as [json.Marshal] writes it. A list of changes
// may have millions, and most of the time of listing them would go into
// finding out by reflection, again and again, what a change consists of.
func (c *Change) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = appendString(b, "path", c.Path)
	b = appendString(b, "kind", string(c.Kind))
	b = appendOptional(b, "scope", string(c.Scope))
	b = appendString(b, "type", c.Type)
	b = appendInt(b, "size", c.Size)
	b = appendNonzero(b, "old_size", c.OldSize)
	b = appendNonzero(b, "mode", int64(c.Mode))
	b = appendNonzero(b, "old_mode", int64(c.OldMode))
	if !c.ModTime.IsZero() {
		b = append(appendKey(b, "mtime"), '"')
		b = append(c.ModTime.AppendFormat(b, time.RFC3339Nano), '"')
	}
	b = appendOptional(b, "from", c.From)
	b = appendOptional(b, "link", c.Link)
	b = appendNonzero(b, "entries", int64(c.Entries))
	b = appendNonzero(b, "moved_out", int64(c.MovedOut))
	b = appendStrings(b, "attrs", c.Attrs)
	b = appendOptional(b, "owner", c.Owner)
	b = appendOptional(b, "old_owner", c.OldOwner)
	b = appendNonzero(b, "similarity", int64(c.Similarity))
	b = appendTrue(b, "hidden", c.Hidden)
	b = appendTrue(b, "drifted", c.Drifted)
	b = appendBytes(b, "path_bytes", c.PathBytes)
	b = appendNonzero(b, "plus", int64(c.Plus))
	b = appendNonzero(b, "minus", int64(c.Minus))
	b = appendTrue(b, "binary", c.Binary)
	b = appendNonzero(b, "hunks", int64(c.Hunks))
	b = appendBytes(b, "patch", c.Patch)
	return append(b, '}')
}

func appendKey(b []byte, key string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, key...)
	return append(b, '"', ':')
}

func appendString(b []byte, key, value string) []byte { return appendText(appendKey(b, key), value) }

func appendOptional(b []byte, key, value string) []byte {
	if value == "" {
		return b
	}
	return appendString(b, key, value)
}

// appendText leaves what has to be escaped to the library.
func appendText(b []byte, value string) []byte {
	for i := range len(value) {
		if ch := value[i]; ch < ' ' || ch >= utf8.RuneSelf || ch == '"' || ch == '\\' || ch == '<' || ch == '>' || ch == '&' {
			text, _ := json.Marshal(value) // no string is an error
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, value...)
	return append(b, '"')
}

func appendInt(b []byte, key string, n int64) []byte {
	return strconv.AppendInt(appendKey(b, key), n, 10)
}

func appendNonzero(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	return appendInt(b, key, n)
}

func appendTrue(b []byte, key string, set bool) []byte {
	if !set {
		return b
	}
	return append(appendKey(b, key), "true"...)
}

func appendStrings(b []byte, key string, list []string) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(appendKey(b, key), '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, s)
	}
	return append(b, ']')
}

func appendBytes(b []byte, key string, value []byte) []byte {
	if len(value) == 0 {
		return b
	}
	b = append(appendKey(b, key), '"')
	b = base64.StdEncoding.AppendEncode(b, value)
	return append(b, '"')
}

// ParseJSON reads a change. What [Change.AppendJSON] writes of ordinary files
// is read at once; anything else is left to [json.Unmarshal].
func (c *Change) ParseJSON(text []byte) error {
	p := changeParser{rest: text}
	if p.change(c) && len(p.rest) == 0 {
		return nil
	}
	*c = Change{}
	return json.Unmarshal(text, c)
}

// changeParser understands the plain forms of JSON, and knows when it is
// given another.
type changeParser struct{ rest []byte }

func (p *changeParser) change(c *Change) bool {
	if !p.take('{') {
		return false
	}
	for {
		key, ok := p.text()
		if !ok || !p.take(':') || !p.member(c, key) {
			return false
		}
		if p.take('}') {
			return true
		}
		if !p.take(',') {
			return false
		}
	}
}

// member reads the value of one key.
func (p *changeParser) member(c *Change, key []byte) bool {
	switch string(key) {
	case "path":
		return p.str(&c.Path)
	case "kind":
		return p.str((*string)(&c.Kind))
	case "scope":
		return p.str((*string)(&c.Scope))
	case "type":
		return p.str(&c.Type)
	case "size":
		return number(p, &c.Size)
	case "old_size":
		return number(p, &c.OldSize)
	case "mode":
		return number(p, &c.Mode)
	case "old_mode":
		return number(p, &c.OldMode)
	case "mtime":
		return p.time(&c.ModTime)
	case "from":
		return p.str(&c.From)
	case "link":
		return p.str(&c.Link)
	case "entries":
		return number(p, &c.Entries)
	case "plus":
		return number(p, &c.Plus)
	case "minus":
		return number(p, &c.Minus)
	case "hunks":
		return number(p, &c.Hunks)
	case "patch":
		return p.bytes(&c.Patch)
	}
	return false
}

func (p *changeParser) take(ch byte) bool {
	if len(p.rest) == 0 || p.rest[0] != ch {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// text reads a string without escapes.
func (p *changeParser) text() ([]byte, bool) {
	if !p.take('"') {
		return nil, false
	}
	for i, ch := range p.rest {
		switch {
		case ch == '"':
			text := p.rest[:i]
			p.rest = p.rest[i+1:]
			return text, true
		case ch == '\\' || ch < ' ' || ch >= utf8.RuneSelf:
			return nil, false
		}
	}
	return nil, false
}

func (p *changeParser) str(to *string) bool {
	text, ok := p.text()
	*to = known(text)
	return ok
}

// known saves making the same few words again for every change.
func known(text []byte) string {
	switch string(text) {
	case "file":
		return "file"
	case string(Added):
		return string(Added)
	case string(Modified):
		return string(Modified)
	case string(Workspace):
		return string(Workspace)
	case string(System):
		return string(System)
	}
	return string(text)
}

// number reads a whole number that is not negative.
func number[T ~int | ~int64 | ~uint32](p *changeParser, to *T) bool {
	n, i := int64(0), 0
	for i < len(p.rest) && p.rest[i] >= '0' && p.rest[i] <= '9' && i < 18 {
		n = n*10 + int64(p.rest[i]-'0')
		i++
	}
	if i == 0 || i > 1 && p.rest[0] == '0' || int64(T(n)) != n {
		return false
	}
	p.rest, *to = p.rest[i:], T(n)
	return true
}

func (p *changeParser) time(to *time.Time) bool {
	text, ok := p.text()
	if !ok {
		return false
	}
	return to.UnmarshalText(text) == nil
}

func (p *changeParser) bytes(to *[]byte) bool {
	text, ok := p.text()
	if !ok {
		return false
	}
	raw, err := base64.StdEncoding.AppendDecode([]byte{}, text)
	*to = raw
	return err == nil
}
