package intercept

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// patterns are the forms of several secrets, to be looked for all at once. Nil
// finds nothing.
type patterns struct{ list []pattern }

type pattern struct {
	text    []byte
	fold    string // in lower case: names of headers lose theirs
	instead []byte
	// borders[n] is how much of the beginning of text the first n bytes also end
	// in, n itself not counted (Knuth, Morris and Pratt).
	borders []int
}

func newPatterns(secrets []Secret) *patterns {
	p := &patterns{}
	for _, s := range secrets {
		for _, form := range forms(s.Value) {
			p.list = append(p.list, pattern{form, strings.ToLower(string(form)), []byte(s.Placeholder), borders(form)})
		}
	}
	return p
}

func borders(text []byte) []int {
	table := make([]int, len(text)+1)
	for n, k := 1, 0; n < len(text); n++ {
		for k > 0 && text[n] != text[k] {
			k = table[k]
		}
		if text[n] == text[k] {
			k++
		}
		table[n+1] = k
	}
	return table
}

// begun is how many bytes at the end of data are the beginning of the pattern,
// but not all of it.
func (p *pattern) begun(data []byte) int {
	k := 0
	for _, b := range data[max(0, len(data)-len(p.text)+1):] {
		for k > 0 && b != p.text[k] {
			k = p.borders[k]
		}
		if b == p.text[k] {
			k++
		}
	}
	return k
}

// undecided is where in data the first pattern may begin that goes on after it.
func (p *patterns) undecided(data []byte) int {
	most := 0
	for n := range p.list {
		most = max(most, p.list[n].begun(data))
	}
	return len(data) - most
}

// clean replaces what is found in a text.
func (p *patterns) clean(text string) string {
	if p == nil || !p.in(text) {
		return text
	}
	out, _ := p.replace(nil, []byte(text), true)
	return string(out)
}

func (p *patterns) in(text string) bool {
	for _, each := range p.list {
		if strings.Contains(text, string(each.text)) {
			return true
		}
	}
	return false
}

// inName says whether a name has a value in it, in whatever case.
func (p *patterns) inName(name string) bool {
	name = strings.ToLower(name)
	for _, each := range p.list {
		if strings.Contains(name, each.fold) {
			return true
		}
	}
	return false
}

// search remembers where each pattern is found next, so that data in which one
// is found often is not searched for the others each time.
type search struct {
	*patterns
	data []byte
	next []int
}

const unknown = -1

func (p *patterns) search(data []byte) *search {
	s := &search{patterns: p, data: data, next: make([]int, len(p.list))}
	for n := range s.next {
		s.next[n] = unknown
	}
	return s
}

// from finds what begins first at or after a place, and of several that begin
// there the longest.
func (s *search) from(at int) (start int, found *pattern) {
	start = len(s.data)
	for n := range s.list {
		if s.next[n] < at {
			s.next[n] = len(s.data)
			if i := bytes.Index(s.data[at:], s.list[n].text); i >= 0 {
				s.next[n] = at + i
			}
		}
		each := &s.list[n]
		if s.next[n] < start || s.next[n] == start && found != nil && len(each.text) > len(found.text) {
			start, found = s.next[n], each
		}
	}
	return start, found
}

// replace appends to out what data becomes, and returns what is not decided:
// the end of data may be the beginning of a value. At the end of all data nothing
// is left undecided. What comes out does not depend on where data was cut.
func (p *patterns) replace(out, data []byte, end bool) (done, rest []byte) {
	s := p.search(data)
	for at := 0; ; {
		start, found := s.from(at)
		limit := len(data)
		if !end {
			limit = at + p.undecided(data[at:])
		}
		if found == nil || limit <= start {
			return append(out, data[at:limit]...), data[limit:]
		}
		out = append(append(out, data[at:start]...), found.instead...)
		at = start + len(found.text)
	}
}

// leastForm is how long an encoded form must be to be looked for. Shorter ones
// are found by chance in what has nothing to do with the secret, and replacing
// them would spoil it. The value itself is always looked for.
const leastForm = 8

// forms are the ways in which a value is written: as it is, and as programs
// encode it on the way.
func forms(value []byte) [][]byte {
	encoded := []string{hex.EncodeToString(value), strings.ToUpper(hex.EncodeToString(value))}
	text := string(value)
	encoded = append(encoded, percent(value, "%%%02X"), percent(value, "%%%02x"))
	encoded = append(encoded, url.QueryEscape(text), url.PathEscape(text), html.EscapeString(text))
	if utf8.ValidString(text) {
		encoded = append(encoded, jsonForms(text)...)
	}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			encoded = append(encoded, base64Core(alphabet, value, offset))
		}
	}
	list := [][]byte{value}
	for _, form := range encoded {
		known := func(other []byte) bool { return bytes.Equal(other, []byte(form)) }
		if len(form) >= leastForm && !slices.ContainsFunc(list, known) {
			list = append(list, []byte(form))
		}
	}
	return list
}

// percent writes every byte in URL encoding, also those that need none.
func percent(value []byte, as string) string {
	var b strings.Builder
	for _, c := range value {
		fmt.Fprintf(&b, as, c)
	}
	return b.String()
}

// base64Core is what base64 of something that has the value in it has in it,
// whatever is before and after. offset is where in a group of three bytes the
// value begins. A digit at either end that the neighbours have a share in is not
// part of it.
func base64Core(alphabet *base64.Encoding, value []byte, offset int) string {
	coded := alphabet.EncodeToString(append(make([]byte, offset), value...))
	first := (offset*8 + 5) / 6
	return coded[min(first, len(coded)):max(first, min((offset+len(value))*8/6, len(coded)))]
}

// jsonForms are how encoders escape a string: some also angle brackets, some
// also slashes.
func jsonForms(text string) []string {
	careful, _ := json.Marshal(text)
	var plain bytes.Buffer
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)
	list := []string{inner(string(careful)), inner(strings.TrimSuffix(plain.String(), "\n"))}
	for _, form := range list[:2:2] {
		list = append(list, strings.ReplaceAll(form, "/", `\/`))
	}
	return list
}

// inner is a JSON string without its quotes.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }
