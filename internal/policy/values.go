package policy

import (
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
)

func itoa(n int) string { return strconv.Itoa(n) }

// limits reads a mapping of resources. What is there already stays, unless it
// is named.
func (p page) limits(into forkbox.Limits) field {
	return func(n *yaml.Node) error {
		return p.entries(n, func(key, value *yaml.Node) error {
			r := forkbox.Resource(key.Value)
			if !r.Known() {
				_, err := forkbox.ParseLimit(r, "") // it knows what there is
				return p.at(key, "limits", err)
			}
			v, err := p.limit(value, key.Value, r)
			into[r] = v
			return err
		})
	}
}

// limit reads one value as flags have it.
func (p page) limit(n *yaml.Node, key string, like forkbox.Resource) (int64, error) {
	text, err := p.text(n)
	if err != nil {
		return 0, err
	}
	v, err := forkbox.ParseLimit(like, text)
	if err != nil {
		return 0, p.at(n, key, err)
	}
	return v, nil
}

// amount is a limit of several boxes together: "unlimited" is 0.
func (p page) amount(into *int64, key string, like forkbox.Resource) field {
	return func(n *yaml.Node) error {
		v, err := p.limit(n, key, like)
		*into = max(0, v)
		return err
	}
}

func (p page) count(into *int, key string) field {
	return func(n *yaml.Node) error {
		v, err := p.limit(n, key, forkbox.Inodes)
		if err == nil && v > 1<<31-1 {
			return p.malformed(n, "%s: %d is too much", key, v)
		}
		*into = int(max(0, v))
		return err
	}
}

func (p page) yes(into *bool) field {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(into) != nil {
			return p.malformed(n, "there should be true or false")
		}
		return nil
	}
}

// wait is a time that may be zero: then no caller waits. It always ends.
func (p page) wait(into *time.Duration) field {
	return func(n *yaml.Node) error {
		text, err := p.text(n)
		if err != nil {
			return err
		}
		if *into = 0; text == "0" || text == "0s" {
			return nil
		}
		v, err := forkbox.ParseLimit(forkbox.Timeout, text)
		switch {
		case err != nil:
			return p.at(n, "wait", err)
		case v == forkbox.Unlimited:
			return p.malformed(n, "wait: it has to end at some time")
		}
		*into = time.Duration(v)
		return nil
	}
}

// pressures reads percentages of time, or "off".
func (p page) pressures(into map[string]float64) field {
	known := map[string]field{}
	for _, what := range []string{"cpu", "memory", "io"} {
		known[what] = func(n *yaml.Node) error {
			text, err := p.text(n)
			if err != nil {
				return err
			}
			if delete(into, what); text == "off" {
				return nil
			}
			v, err := parsePercent(strings.TrimSuffix(text, "%"))
			if err != nil || v > 100 {
				return p.malformed(n, "%s: %q is no percentage of time", what, text).Hint("for example 60, or off")
			}
			into[what] = v
			return nil
		}
	}
	return func(n *yaml.Node) error { return p.fields(n, known) }
}

// parsePercent takes plain decimals only: a NaN would be below every limit.
func parsePercent(text string) (float64, error) {
	if strings.Trim(text, "0123456789.") != "" {
		return 0, strconv.ErrSyntax
	}
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && (v <= 0 || v > 1e6) {
		err = strconv.ErrRange
	}
	return v, err
}
