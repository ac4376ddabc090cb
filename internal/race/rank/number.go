package rank

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// mostText is how much of a text is looked at: the end of it. What prints
// gigabytes before its number is as welcome as anybody.
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
// take, and how long nobody looks at the clock.
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
