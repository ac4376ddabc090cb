package forkbox

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

func (x Extract) check(f *raceFaults, at string) {
	f.place(at+".file", x.File)
	if x.Pattern != "" && x.JSON != "" {
		f.add(at+".json", "a number is found by a pattern or in JSON, not by both")
	}
	if len(x.Pattern) > mostPattern {
		f.add(at+".pattern", "it has %d bytes, and %d is the most", len(x.Pattern), mostPattern)
	} else if _, err := regexp.Compile(x.Pattern); err != nil {
		f.add(at+".pattern", "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if x.JSON != "" {
		if _, err := ParseJSONPath(x.JSON); err != nil {
			f.add(at+".json", "%v", err).hint(`for example results[0].mean or ["odd key"].p99`)
		}
	}
}

// JSONStep is one step of a path into a JSON document: into an object by Key,
// or into a list by Index where List is set.
type JSONStep struct {
	Key   string
	Index int
	List  bool
}

func (s JSONStep) String() string {
	if s.List {
		return fmt.Sprintf("[%d]", s.Index)
	}
	return strconv.Quote(s.Key)
}

// ParseJSONPath reads results[0].mean and ["odd key"].p99. A "$" or a dot may
// come first, as other tools write it.
func ParseJSONPath(text string) ([]JSONStep, error) {
	if len(text) > mostPattern {
		return nil, fmt.Errorf("the path has %d bytes, and %d is the most", len(text), mostPattern)
	}
	rest, steps := strings.TrimPrefix(text, "$"), []JSONStep(nil)
	for first := true; rest != ""; first = false {
		var s JSONStep
		var err error
		switch {
		case rest[0] == '[':
			s, rest, err = bracketed(rest)
		case rest[0] == '.' || first:
			s, rest, err = dotted(strings.TrimPrefix(rest, "."))
		default:
			err = fmt.Errorf("after ] comes a dot or another [, not %q", cut(rest))
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("the path %q leads nowhere", cut(text))
	}
	return steps, nil
}

func dotted(text string) (JSONStep, string, error) {
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	if key := text[:end]; key == "" || strings.ContainsAny(key, "]\"") {
		return JSONStep{}, "", fmt.Errorf("%q is no key", cut(key))
	}
	return JSONStep{Key: text[:end]}, text[end:], nil
}

// bracketed is [0] or ["key"], in which a quote is written as in JSON.
func bracketed(text string) (JSONStep, string, error) {
	inner := text[1:]
	if quoted, err := strconv.QuotedPrefix(inner); err == nil && inner[0] == '"' {
		key, err := strconv.Unquote(quoted)
		if rest, closed := strings.CutPrefix(inner[len(quoted):], "]"); closed && err == nil {
			return JSONStep{Key: key}, rest, nil
		}
		return JSONStep{}, "", fmt.Errorf("there is no ] after %s", cut(quoted))
	}
	number, rest, closed := strings.Cut(inner, "]")
	index, err := strconv.ParseUint(number, 10, 31)
	if err != nil || !closed {
		return JSONStep{}, "", fmt.Errorf("%q is neither [0] nor [\"key\"]", cut(text))
	}
	return JSONStep{Index: int(index), List: true}, rest, nil
}
