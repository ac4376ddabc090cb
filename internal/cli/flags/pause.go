package flags

import (
	"errors"
	"time"
)

// pauseTime is how long a service may stand still. Zero is never.
type pauseTime struct{ span *time.Duration }

func (p *pauseTime) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("it is a time, for example 500ms or 5s; 0s is never")
	}
	p.span = &d
	return nil
}

func (p *pauseTime) String() string {
	if p.span == nil {
		return ""
	}
	return p.span.String()
}

func (*pauseTime) Type() string { return "time" }

// PauseFlag is --pause of other verbs.
type PauseFlag struct{ pauseTime }

// Span is what was said; nil if nothing was.
func (p *PauseFlag) Span() *time.Duration { return p.span }
