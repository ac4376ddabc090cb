package policy

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
)

// kept reads a share that is set aside: 2g, 5%, 0 for none, or a percentage
// with bounds. Only less than all can be.
func (p page) kept(into *Share, key string) field {
	return func(n *yaml.Node) error {
		if n.Kind == yaml.MappingNode {
			return p.bounded(n, into, key)
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

// bounded reads {share: 5%, least: 256m, most: 2g}.
func (p page) bounded(n *yaml.Node, into *Share, key string) error {
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

// given reads a share that may be handed out: 12g, 90%, more than all of it
// where that is wanted, or "unlimited".
func (p page) given(into *Share, key string) field {
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
