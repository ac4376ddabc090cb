package race

import (
	"fmt"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/flags"
)

type stopRule string

func (s *stopRule) Set(text string) error {
	return flags.OneOf((*string)(s), text, string(forkbox.StopAll), string(forkbox.StopFirstPass), string(forkbox.StopDeadline))
}
func (s *stopRule) String() string { return string(*s) }
func (*stopRule) Type() string     { return "rule" }

// tieBreaks are in the order in which they were said.
type tieBreaks []forkbox.TieBreak

func (t *tieBreaks) Set(text string) error {
	var word string
	err := flags.OneOf(&word, text, string(forkbox.SmallerDiff), string(forkbox.FewerFiles), string(forkbox.Faster))
	if err == nil {
		*t = append(*t, forkbox.TieBreak(word))
	}
	return err
}

func (t *tieBreaks) String() string {
	var words []string
	for _, word := range *t {
		words = append(words, string(word))
	}
	return strings.Join(words, ",")
}

func (*tieBreaks) Type() string { return "rule" }

// spanFlag is a time above zero; zero is one that was not said.
type spanFlag time.Duration

func (s *spanFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return fmt.Errorf("it is a time above zero, for example 30s or 10m")
	}
	*s = spanFlag(d)
	return nil
}

func (s *spanFlag) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (*spanFlag) Type() string { return "time" }

func (s spanFlag) span() time.Duration { return time.Duration(s) }
