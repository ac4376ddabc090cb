package policy

import (
	"math"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"go.yaml.in/yaml/v3"
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

// readKept reads a share that is set aside: 2g, 5%, 0 for none, or a percentage
// with bounds. Only less than all can be.
func (p page) readKept(into *Share, key string) field {
	return func(n *yaml.Node) error {
		if n.Kind == yaml.MappingNode {
			return p.readBounded(n, into, key)
		}
		text, err := p.text(n)
		if err != nil {
			return err
		}
		if *into = (Share{}); text == "0" {
			return nil
		}
		return p.share(n, into, key, text, 99)
	}
}

// readBounded reads {share: 5%, least: 256m, most: 2g}.
func (p page) readBounded(n *yaml.Node, into *Share, key string) error {
	var least, most int64
	*into = Share{}
	err := p.fields(n, map[string]field{
		"share": func(n *yaml.Node) error {
			text, err := p.text(n)
			if err != nil {
				return err
			}
			if err := p.share(n, into, key, text, 99); err != nil {
				return err
			}
			if into.Percent == 0 {
				return p.malformed(n, "%s: share: %q is not a percentage", key, text)
			}
			return nil
		},
		"least": p.amount(&least, "least", forkbox.Disk),
		"most":  p.amount(&most, "most", forkbox.Disk),
	})
	switch {
	case err != nil:
		return err
	case into.Percent == 0:
		return p.malformed(n, "%s: there is no share", key).Hint("for example {share: 5%%, least: 256m, most: 2g}")
	case most > 0 && least > most:
		return p.malformed(n, "%s: least is more than most", key)
	}
	into.Least, into.Most = least, most
	return nil
}

// readGiven reads a share that may be handed out: 12g, 90%, more than all of it
// where that is wanted, or "unlimited".
func (p page) readGiven(into *Share, key string) field {
	return func(n *yaml.Node) error {
		text, err := p.text(n)
		if err != nil {
			return err
		}
		return p.share(n, into, key, text, 10000)
	}
}

func (p page) share(n *yaml.Node, into *Share, key, text string, most float64) error {
	if number, ok := strings.CutSuffix(text, "%"); ok {
		v, err := parsePercent(number)
		if err != nil || v > most {
			return p.malformed(n, "%s: %q is no share of the whole", key, text).Hint("it is more than 0%% and at most %s", percent(most))
		}
		*into = Share{Percent: v}
		return nil
	}
	v, err := forkbox.ParseLimit(forkbox.Memory, text)
	if err != nil {
		return p.at(n, key, err)
	}
	*into = Share{Bytes: max(0, v)}
	return nil
}
