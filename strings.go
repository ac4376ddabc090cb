package forkbox

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// Strings are arguments or variables: bytes that need not be UTF-8, which JSON
// would alter. Those that are not travel as {"bytes": base64}.
type Strings []string

type rawString struct {
	Bytes []byte `json:"bytes"`
}

// MarshalJSON is a plain array of strings where it can be.
func (s Strings) MarshalJSON() ([]byte, error) {
	if !slices.ContainsFunc(s, func(v string) bool { return !utf8.ValidString(v) }) {
		return json.Marshal([]string(s))
	}
	list := make([]any, len(s))
	for i, v := range s {
		if utf8.ValidString(v) {
			list[i] = v
		} else {
			list[i] = rawString{[]byte(v)}
		}
	}
	return json.Marshal(list)
}

// UnmarshalJSON takes both forms.
func (s *Strings) UnmarshalJSON(text []byte) error {
	if list, ok := simple(string(text)); ok {
		*s = list
		return nil
	}
	var plain []string
	if err := json.Unmarshal(text, &plain); err == nil {
		*s = plain
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*s = make(Strings, len(list))
	for i, item := range list {
		var raw rawString
		if err := json.Unmarshal(item, &(*s)[i]); err == nil {
			continue
		}
		if err := json.Unmarshal(item, &raw); err != nil {
			return err
		}
		(*s)[i] = string(raw.Bytes)
	}
	return nil
}

// simple reads what nearly all of them are, an environment with each exec: an
// array in which nothing is escaped. Then every quote begins or ends a string.
func simple(text string) (list []string, ok bool) {
	const begin, between, end = `["`, `","`, `"]`
	rest, begins := strings.CutPrefix(text, begin)
	rest, ends := strings.CutSuffix(rest, end)
	if !begins || !ends || strings.Contains(rest, `\`) || !utf8.ValidString(rest) {
		return nil, false
	}
	list = strings.Split(rest, between)
	return list, !slices.ContainsFunc(list, func(v string) bool { return strings.Contains(v, `"`) })
}
