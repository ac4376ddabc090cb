package rank

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// mostText is how much of a text is looked at: the end of it. What prints
// gigabytes before its number is as welcome as any other.
const mostText = 1 << 20

// Number finds the number in a text that x describes.
func Number(x forkbox.Extract, text []byte) (float64, error) {
	cut := len(text) > mostText
	if cut {
		text = text[len(text)-mostText:]
	}
	switch {
	case x.Pattern != "":
		return matched(x.Pattern, text)
	case x.JSON != "" && cut:
		return 0, noNumber("the JSON document is longer than %d bytes", mostText)
	case x.JSON != "":
		return inJSON(x.JSON, text)
	case len(bytes.TrimSpace(text)) == 0:
		return 0, noNumber("the text is empty")
	}
	v, err := parse(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, err.Hint("a pattern finds a number in a longer text")
	}
	return v, nil
}

func noNumber(format string, args ...any) *forkbox.Error {
	return forkbox.Errorf(forkbox.Invalid, "read a number", format, args...)
}

// parse takes a plain decimal number, and nothing that only programs take for
// one: no hexadecimal digits, no underscores, no infinity.
func parse(text string) (float64, *forkbox.Error) {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case strings.Trim(text, "+-.0123456789eE") != "" || err != nil && !math.IsInf(v, 0):
		return 0, noNumber("%s is no number", excerpt(text))
	case math.IsInf(v, 0):
		return 0, noNumber("%s is too large", excerpt(text))
	}
	return v, nil
}

func excerpt(text string) string {
	const most = 60
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}

// matched is the first group of the last match, or all of it.
func matched(pattern string, text []byte) (float64, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return 0, noNumber("%w", err)
	}
	at, err := last(re, text, patience)
	if err != nil {
		return 0, err
	}
	if at == nil {
		return 0, noNumber("nothing matches %s", excerpt(pattern))
	}
	from, to := at[0], at[1]
	if len(at) > 2 {
		from, to = at[2], at[3]
	}
	if from < 0 {
		return 0, noNumber("the last match of %s does not have its first group", excerpt(pattern))
	}
	v, bad := parse(strings.TrimSpace(string(text[from:to])))
	if bad != nil {
		return 0, bad
	}
	return v, nil
}

// patience is how long matches are looked for. One match costs no more than
// reading the text, but a pattern can be made so that each of a million does.
const patience = 2 * time.Second

// last finds the last match, some at a time: that bounds what the lists of them
// take, and how long the clock is not looked at.
func last(re *regexp.Regexp, text []byte, patience time.Duration) (at []int, err error) {
	const some = 32
	started := time.Now()
	for from := 0; ; {
		found := next(re, text, from, some)
		if len(found) > 0 {
			at = found[len(found)-1]
		}
		switch {
		case len(found) < some-1 || at[1] <= from:
			return at, nil
		case time.Since(started) > patience:
			return nil, noNumber("it takes too long to find the last match of %s", excerpt(re.String()))
		}
		from = at[1]
	}
}

// next are matches that begin at from or later. The byte before that is shown to
// the pattern, which may ask whether a word or a line begins; where that makes
// it match what was matched already, it is not.
func next(re *regexp.Regexp, text []byte, from, some int) [][]int {
	back := min(from, 1)
	found := re.FindAllSubmatchIndex(text[from-back:], some)
	if len(found) > 0 && found[0][0] < back {
		if found[0][1] > back {
			back, found = 0, re.FindAllSubmatchIndex(text[from:], some)
		} else {
			found = found[1:]
		}
	}
	for _, m := range found {
		shift(m, from-back)
	}
	return found
}

func shift(match []int, by int) {
	for i := range match {
		if match[i] >= 0 {
			match[i] += by
		}
	}
}

// inJSON follows a path. Tools print other things before their JSON: where the
// text as a whole is none, its last line may be.
func inJSON(path string, text []byte) (float64, error) {
	steps, err := forkbox.ParseJSONPath(path)
	if err != nil {
		return 0, noNumber("%w", err)
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return 0, noNumber("the text is empty")
	}
	if !json.Valid(text) {
		text = text[bytes.LastIndexByte(text, '\n')+1:]
	}
	if !json.Valid(text) {
		return 0, noNumber("neither the text nor its last line is a JSON document")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for _, s := range steps {
		if err := enter(dec, s); err != nil {
			return 0, err
		}
	}
	return numberHere(dec)
}

// enter moves to the value at s. It reads on from where it stands, so that of a
// large document nothing else is kept.
func enter(dec *json.Decoder, s forkbox.JSONStep) error {
	t, err := dec.Token()
	if err != nil {
		return noNumber("%w", err)
	}
	switch {
	case s.List && t == json.Delim('['):
		return enterList(dec, s)
	case !s.List && t == json.Delim('{'):
		return enterObject(dec, s)
	}
	return noNumber("%s leads into %s", s, kindOf(t))
}

func enterList(dec *json.Decoder, s forkbox.JSONStep) error {
	n := 0
	for ; dec.More(); n++ {
		if n == s.Index {
			return nil
		}
		if err := skip(dec); err != nil {
			return err
		}
	}
	return noNumber("there is no %s: the list has %d", s, n)
}

func enterObject(dec *json.Decoder, s forkbox.JSONStep) error {
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return noNumber("%w", err)
		}
		if key == s.Key {
			return nil
		}
		if err := skip(dec); err != nil {
			return err
		}
	}
	return noNumber("there is no key %s", excerpt(s.Key))
}

func skip(dec *json.Decoder) error {
	var over json.RawMessage
	if err := dec.Decode(&over); err != nil {
		return noNumber("%w", err)
	}
	return nil
}

func numberHere(dec *json.Decoder) (float64, error) {
	t, err := dec.Token()
	if err != nil {
		return 0, noNumber("%w", err)
	}
	n, ok := t.(json.Number)
	if !ok {
		return 0, noNumber("what is there is %s", kindOf(t))
	}
	v, bad := parse(n.String())
	if bad != nil {
		return 0, bad
	}
	return v, nil
}

func kindOf(t json.Token) string {
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			return "a list"
		}
		return "an object"
	case string:
		return "text: " + excerpt(t)
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	}
	return "null"
}
