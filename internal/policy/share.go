package policy

import (
	"math"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// Share is a part of something: so many bytes, or so many percent of the
// whole. The zero Share is nothing.
type Share struct {
	Bytes   int64
	Percent float64
	// Least and Most bound what the percentage comes to; 0 is no bound. Least
	// gives way on a host so small that it would be more than a quarter.
	Least, Most int64
}

// Of is how many bytes the share of a whole is.
func (s Share) Of(whole int64) int64 {
	if s.Percent <= 0 {
		return s.Bytes
	}
	part := clampedBytes(float64(whole) / 100 * s.Percent)
	if least := min(s.Least, whole/4); part < least {
		part = least
	}
	if s.Most > 0 {
		part = min(part, s.Most)
	}
	return part
}

func clampedBytes(f float64) int64 {
	if f >= math.MaxInt64/2 {
		return math.MaxInt64 / 2
	}
	return int64(f)
}

// none says that there is no such share.
func (s Share) none() bool { return s.Percent <= 0 && s.Bytes <= 0 }

// figure is a number of bytes as it is told to people: "3.6g". It is exact
// where that is as short.
func figure(bytes int64) string {
	if exact := forkbox.FormatLimit(forkbox.Memory, bytes); len(exact) <= 5 {
		return exact
	}
	value, unit := float64(bytes), ""
	for _, next := range []string{"k", "m", "g", "t"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	return strings.TrimSuffix(strconv.FormatFloat(value, 'f', 1, 64), ".0") + unit
}

// percent is a share of time as people read it.
func percent(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") + "%"
}

// String is the share as config.yaml has it.
func (s Share) String() string {
	switch {
	case s.none():
		return "unlimited"
	case s.Percent <= 0:
		return forkbox.FormatLimit(forkbox.Memory, s.Bytes)
	}
	part := strconv.FormatFloat(s.Percent, 'f', -1, 64) + "%"
	if s.Least == 0 && s.Most == 0 {
		return part
	}
	text := "{share: " + part
	if s.Least > 0 {
		text += ", least: " + forkbox.FormatLimit(forkbox.Memory, s.Least)
	}
	if s.Most > 0 {
		text += ", most: " + forkbox.FormatLimit(forkbox.Memory, s.Most)
	}
	return text + "}"
}
