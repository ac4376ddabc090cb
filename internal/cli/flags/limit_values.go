package flags

import (
	"fmt"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// LimitValue is a flag that is understood as soon as it is read: what cannot be
// a limit is refused before anything is made.
type LimitValue struct {
	Resource forkbox.Resource
	Into     forkbox.Limits
}

func (v LimitValue) Set(text string) error {
	n, err := forkbox.ParseLimit(v.Resource, text)
	if err == nil {
		v.Into[v.Resource] = n
	}
	return err
}

func (v LimitValue) String() string {
	if n, set := v.Into[v.Resource]; set {
		return forkbox.FormatLimit(v.Resource, n)
	}
	return ""
}

func (v LimitValue) Type() string { return v.Resource.Info().Unit.Word() }

type limitEffort string

func (e *limitEffort) Set(text string) error {
	return OneOf((*string)(e), text, "strict", "best-effort")
}
func (e *limitEffort) String() string { return string(*e) }
func (*limitEffort) Type() string     { return "how" }

type limitPriority string

func (p *limitPriority) Set(text string) error {
	return OneOf((*string)(p), text, "low", "normal", "high")
}
func (p *limitPriority) String() string { return string(*p) }
func (*limitPriority) Type() string     { return "priority" }

// OneOf sets a flag to one of the words that it takes.
func OneOf(into *string, text string, words ...string) error {
	for _, word := range words {
		if text == word {
			*into = word
			return nil
		}
	}
	return fmt.Errorf("it is one of %s", strings.Join(words, ", "))
}

// LimitWait is a time that may be zero, which is not the same as none.
type LimitWait struct {
	Span  int64
	Given bool
}

func (w *LimitWait) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("it is a time, for example 30s or 5m, and 0 for not at all")
	}
	w.Span, w.Given = int64(d), true
	return nil
}

func (w *LimitWait) String() string {
	if !w.Given {
		return ""
	}
	return time.Duration(w.Span).String()
}

func (*LimitWait) Type() string { return "time" }

// TimeoutFlag is a limit for which zero has always meant none.
type TimeoutFlag struct {
	Value int64
	Given bool
}

func (t *TimeoutFlag) Set(text string) (err error) {
	t.Given, t.Value = true, forkbox.Unlimited
	if d, bad := time.ParseDuration(text); bad == nil && d == 0 {
		return nil
	}
	t.Value, err = forkbox.ParseLimit(forkbox.Timeout, text)
	return err
}

func (t *TimeoutFlag) String() string {
	if !t.Given {
		return ""
	}
	return forkbox.FormatLimit(forkbox.Timeout, t.Value)
}

func (*TimeoutFlag) Type() string { return "time" }

// Span is zero where there is none.
func (t *TimeoutFlag) Span() time.Duration { return time.Duration(max(0, t.Value)) }
