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
