package box

import (
	"errors"
	"time"
)

// graceTime is a time that may also be a bare number of seconds, as it is with
// the tools that have such a flag.
type graceTime struct {
	span time.Duration
	set  bool
}

func (g *graceTime) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil || d < 0 {
		return errors.New("it is a time, for example 10s or 1m, or a number of seconds")
	}
	g.span, g.set = d, true
	return nil
}

func (g *graceTime) String() string {
	if !g.set {
		return ""
	}
	return g.span.String()
}

func (*graceTime) Type() string { return "time" }
