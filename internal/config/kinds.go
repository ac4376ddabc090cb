package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/spelling"
	"github.com/forkbox/forkbox/internal/strictyaml"
)

// Kind is what a value can be, for people and for editors. What reads it is the
// key's own.
type Kind struct {
	Word    string // for people: size, time, one of …
	Example string // as it is written in a file
	Schema  map[string]any
}

func with(k Kind, example string) Kind {
	k.Example = example
	return k
}

// Patterns of what people write. They are for editors, which warn; the readers
// decide.
const (
	sizePattern  = `[0-9]+(\.[0-9]+)?([bB]|[kKmMgGtT]([iI]?[bB])?)?`
	countPattern = `[0-9]+(\.[0-9]+)?[kKmM]?`
	spanPattern  = `([0-9]+d)?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))*|0`
	sharePattern = `[0-9]+(\.[0-9]+)?%`
	unlimited    = `unlimited|none`
)

func pattern(alternatives ...string) string {
	return "^(" + strings.Join(alternatives, "|") + ")$"
}

func textOrNumber(alternatives ...string) map[string]any {
	return map[string]any{"type": []string{"string", "number"}, "minimum": 0, "pattern": pattern(alternatives...)}
}

// limitKind is what a limit of a resource takes, as its flag does.
func limitKind(r forkbox.Resource) Kind {
	k := Kind{Example: r.Info().Example}
	switch r.Info().Unit {
	case forkbox.UnitProcessors:
		k.Word, k.Schema = "number", textOrNumber(`[0-9]+(\.[0-9]+)?`, unlimited)
	case forkbox.UnitBytes:
		k.Word, k.Schema = "size", textOrNumber(sizePattern, unlimited)
	case forkbox.UnitCount:
		k.Word, k.Schema = "count", textOrNumber(countPattern, unlimited)
	case forkbox.UnitTime:
		k.Word, k.Schema = "time", textOrNumber(spanPattern, unlimited)
	}
	return k
}

func sizeKind(example string) Kind {
	return Kind{"size", example, textOrNumber(sizePattern)}
}

func spanKind(example string) Kind {
	return Kind{"time", example, textOrNumber(spanPattern)}
}

func wordKind(words ...string) Kind {
	return Kind{"one of " + strings.Join(words, ", "), words[0], map[string]any{"type": "string", "enum": words}}
}

func yesKind() Kind {
	return Kind{"true or false", "true", map[string]any{"type": "boolean"}}
}

func listKind(what, example string, items map[string]any) Kind {
	return Kind{"list of " + what, example, map[string]any{"type": []string{"array", "null"}, "items": items}}
}

// textKind is any text; YAML takes a user, a group or a file that is called 7 for
// a number.
func textKind(what, example string) Kind {
	return Kind{what, example, map[string]any{"type": []string{"string", "number"}}}
}

// kind has a key's kind with what reads and writes its value.
type kind struct {
	Kind
	set func(*Settings, Place, *yaml.Node) error
	get func(*Settings, string) string
}

// parsed is a kind whose value is a text that parse understands.
func parsed[T any](k Kind, of func(*Settings) *T, parse func(string) (T, error), format func(T) string) kind {
	return kind{k, func(s *Settings, _ Place, n *yaml.Node) error {
		text, err := scalar(n)
		if err != nil {
			return err
		}
		v, err := parse(text)
		if err == nil {
			*of(s) = v
		}
		return err
	}, func(s *Settings, _ string) string { return format(*of(s)) }}
}

// duration is a time that is not zero.
func duration(of func(*Settings) *time.Duration, example string) kind {
	return parsed(spanKind(example), of, func(text string) (time.Duration, error) {
		v, err := parseSome(forkbox.TTL, text)
		return time.Duration(v), err
	}, func(d time.Duration) string {
		const day = 24 * time.Hour
		if d > 0 && d%day == 0 {
			return strconv.Itoa(int(d/day)) + "d"
		}
		return forkbox.FormatLimit(forkbox.TTL, int64(d))
	})
}

// durationOrNever is a time; never is 0.
func durationOrNever(of func(*Settings) *time.Duration, example string) kind {
	k := duration(of, example)
	set, get := k.set, k.get
	k.Word, k.Schema = "time, or never", textOrNumber(spanPattern, "never")
	k.set = func(s *Settings, at Place, n *yaml.Node) error {
		if text, err := scalar(n); err == nil && (text == "never" || text == "0" || text == "0s") {
			*of(s) = 0
			return nil
		}
		return set(s, at, n)
	}
	k.get = func(s *Settings, name string) string {
		if *of(s) == 0 {
			return "never"
		}
		return get(s, name)
	}
	return k
}

// size is a number of bytes that is not zero.
func size(of func(*Settings) *int64, example string) kind {
	return parsed(sizeKind(example), of, func(text string) (int64, error) { return parseSome(forkbox.Disk, text) },
		func(n int64) string { return forkbox.FormatLimit(forkbox.Disk, n) })
}

// parseSome reads a value as the flag of a resource has it, but for unlimited.
func parseSome(like forkbox.Resource, text string) (int64, error) {
	v, err := forkbox.ParseLimit(like, text)
	if err == nil && v <= 0 {
		return 0, forkbox.Errorf(forkbox.Invalid, "read it", "%q is no value for it", text).Hint("for example %s", like.Info().Example)
	}
	return v, err
}

// word is one of some words.
func word(of func(*Settings) *string, words ...string) kind {
	return parsed(wordKind(words...), of, func(text string) (string, error) {
		if slices.Contains(words, text) {
			return text, nil
		}
		err := forkbox.Errorf(forkbox.Invalid, "read it", "%q is no value for it", text)
		if near := spelling.Nearest(text, words); near != "" {
			err.Hint("did you mean %s?", near)
		}
		return "", err.Hint("it is one of %s", strings.Join(words, ", "))
	}, func(text string) string { return text })
}

// scalar is a plain value as it was written.
func scalar(n *yaml.Node) (string, error) {
	switch {
	case n.Kind == yaml.AliasNode:
		return "", fault(n, "an alias (*%s) is not taken here", n.Value)
	case n.Kind != yaml.ScalarNode:
		return "", fault(n, "there should be a single value")
	case strictyaml.IsNull(n):
		return "", fault(n, "there is no value")
	}
	return n.Value, nil
}

func fault(n *yaml.Node, format string, args ...any) error {
	return &strictyaml.Fault{Line: n.Line, Why: fmt.Sprintf(format, args...)}
}
