package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// limitValue is a flag that is understood as soon as it is read: what cannot be
// a limit is refused before anything is made.
type limitValue struct {
	resource forkbox.Resource
	into     forkbox.Limits
}

func (v limitValue) Set(text string) error {
	n, err := forkbox.ParseLimit(v.resource, text)
	if err == nil {
		v.into[v.resource] = n
	}
	return err
}

func (v limitValue) String() string {
	if n, set := v.into[v.resource]; set {
		return forkbox.FormatLimit(v.resource, n)
	}
	return ""
}

func (v limitValue) Type() string { return v.resource.Info().Unit.Word() }

type limitEffort string

func (e *limitEffort) Set(text string) error {
	return oneOf((*string)(e), text, "strict", "best-effort")
}
func (e *limitEffort) String() string { return string(*e) }
func (*limitEffort) Type() string     { return "how" }

type limitPriority string

func (p *limitPriority) Set(text string) error {
	return oneOf((*string)(p), text, "low", "normal", "high")
}
func (p *limitPriority) String() string { return string(*p) }
func (*limitPriority) Type() string     { return "priority" }

func oneOf(into *string, text string, words ...string) error {
	for _, word := range words {
		if text == word {
			*into = word
			return nil
		}
	}
	return fmt.Errorf("it is one of %s", strings.Join(words, ", "))
}

// limitWait is a time that may be zero, which is not the same as none.
type limitWait struct {
	span int64
	set  bool
}

func (w *limitWait) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("it is a time, for example 30s or 5m, and 0 for not at all")
	}
	w.span, w.set = int64(d), true
	return nil
}

func (w *limitWait) String() string {
	if !w.set {
		return ""
	}
	return time.Duration(w.span).String()
}

func (*limitWait) Type() string { return "time" }

// timeoutFlag is a limit for which zero has always meant none.
type timeoutFlag struct {
	value int64
	set   bool
}

func (t *timeoutFlag) Set(text string) (err error) {
	t.set, t.value = true, forkbox.Unlimited
	if d, bad := time.ParseDuration(text); bad == nil && d == 0 {
		return nil
	}
	t.value, err = forkbox.ParseLimit(forkbox.Timeout, text)
	return err
}

func (t *timeoutFlag) String() string {
	if !t.set {
		return ""
	}
	return forkbox.FormatLimit(forkbox.Timeout, t.value)
}

func (*timeoutFlag) Type() string { return "time" }

// span is zero where there is none.
func (t *timeoutFlag) span() time.Duration { return time.Duration(max(0, t.value)) }
