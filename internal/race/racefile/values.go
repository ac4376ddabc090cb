package racefile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/spelling"
	"github.com/forkbox/forkbox/internal/strictyaml"
)

// scalar is a single value as it was written, with what YAML takes it for.
func (p *page) scalar(n *yaml.Node, at string) (text, tag string, ok bool) {
	n, ok = p.real(n, at)
	switch {
	case !ok:
		return "", "", false
	case n.Kind != yaml.ScalarNode:
		p.fault(n.Line, at, "there should be a single value")
		return "", "", false
	case strictyaml.IsNull(n):
		p.fault(n.Line, at, "there is no value")
		return "", "", false
	}
	switch tag = n.ShortTag(); tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp":
		return n.Value, tag, true
	}
	p.fault(n.Line, at, "%s is not taken here", strictyaml.Clip(tag))
	return "", "", false
}

// word is text. What YAML takes for true or false would come out differently
// from how it was meant: the command called true is written in quotes.
func (p *page) word(n *yaml.Node, at string) (string, bool) {
	text, tag, ok := p.scalar(n, at)
	if ok && tag == "!!bool" {
		p.fault(n.Line, at, "%s is a truth value in YAML, not text", text).hint("put it in quotes: %q", text)
		return "", false
	}
	return text, ok
}

func (p *page) text(into *string) field {
	return func(n *yaml.Node, at string) {
		if text, ok := p.word(n, at); ok {
			*into = text
		}
	}
}

func (p *page) yes(into *bool) field {
	return func(n *yaml.Node, at string) {
		text, tag, ok := p.scalar(n, at)
		switch {
		case !ok:
		case tag != "!!bool":
			p.fault(n.Line, at, "%q is neither true nor false", strictyaml.Clip(text))
		default:
			*into = strings.EqualFold(text, "true")
		}
	}
}

func whole[T int | int64](p *page, into *T, least T) field {
	return func(n *yaml.Node, at string) {
		text, ok := p.word(n, at)
		if !ok {
			return
		}
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || int64(T(v)) != v {
			p.fault(n.Line, at, "%q is no whole number", strictyaml.Clip(text))
		} else if *into = T(v); *into < least {
			p.fault(n.Line, at, "%d is too few: the least is %d", v, least)
		}
	}
}

// number is a plain decimal one, or where percent is set a percentage.
func (p *page) number(into *float64, percent bool) field {
	return func(n *yaml.Node, at string) {
		text, ok := p.word(n, at)
		if !ok {
			return
		}
		plain, scale := text, 1.0
		if percent && strings.HasSuffix(text, "%") {
			plain, scale = strings.TrimSpace(strings.TrimSuffix(text, "%")), 100
		}
		v, err := strconv.ParseFloat(plain, 64)
		if err != nil || math.IsInf(v, 0) || strings.Trim(plain, "+-.0123456789eE") != "" {
			p.fault(n.Line, at, "%q is no number", strictyaml.Clip(text))
			return
		}
		if *into = v / scale; percent && v > 1 && scale == 1 {
			p.hint("for percent write %s: %s%%", at[strings.LastIndexByte(at, '.')+1:], plain)
		}
	}
}

// span is a time as limits have it: 90s, 10m, 2h.
func (p *page) span(into *time.Duration) field {
	return func(n *yaml.Node, at string) {
		text, ok := p.word(n, at)
		if !ok {
			return
		}
		v, err := forkbox.ParseLimit(forkbox.Timeout, text)
		switch {
		case err != nil:
			p.take(n.Line, at, err)
		case v == forkbox.Unlimited:
			p.fault(n.Line, at, "it has to end at some time").hint("leave it out to have none")
		default:
			*into = time.Duration(v)
		}
	}
}

// env is NAME: VALUE lines, or a list of NAME=VALUE.
func (p *page) env(into *forkbox.Strings) field {
	return func(n *yaml.Node, at string) {
		if n, _ = p.real(n, at); n.Kind == yaml.SequenceNode {
			p.items(n, at, false, func(item *yaml.Node, place string) {
				if text, ok := p.word(item, place); ok {
					*into = append(*into, text)
				}
			})
			return
		}
		if strictyaml.IsNull(n) {
			return
		}
		pairs, _ := p.pairs(n, at)
		for _, x := range pairs {
			p.variable(into, x, at)
		}
	}
}

// variable takes numbers and truth values as they are written: CI: true.
func (p *page) variable(into *forkbox.Strings, x pair, at string) {
	place := fmt.Sprintf("%s[%d]", at, len(*into))
	p.lines[place] = x.key.Line
	if x.key.Value == "" || strings.ContainsAny(x.key.Value, "=\x00") {
		p.fault(x.key.Line, at, "%q is no name of a variable", strictyaml.Clip(x.key.Value))
		return
	}
	if text, _, ok := p.scalar(x.value, at+"."+strictyaml.Clip(x.key.Value)); ok {
		*into = append(*into, x.key.Value+"="+text)
	}
}

// oneOf is a word of few.
func oneOf[T ~string](p *page, into *T, words ...T) field {
	return func(n *yaml.Node, at string) {
		text, ok := p.word(n, at)
		if !ok {
			return
		}
		known := make([]string, len(words))
		for i, w := range words {
			if known[i] = string(w); known[i] == text {
				*into = w
				return
			}
		}
		why := fmt.Sprintf("%q is not one of %s", strictyaml.Clip(text), strings.Join(known, ", "))
		if near := spelling.Nearest(text, known); near != "" {
			why += fmt.Sprintf("; is %q meant?", near)
		}
		p.fault(n.Line, at, "%s", why)
	}
}
