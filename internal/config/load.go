package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/policy"
)

// Loaded is a configuration, with where each part of it is from.
type Loaded struct {
	Settings
	Sources []Source // those that were there
	values  []value  // what was said, the weakest first
	root    bool     // for a daemon of root's
}

// value is what one source says of a key.
type value struct {
	said
	origin Origin
	from   string // the file, variable or flag
	text   string // as it was understood
}

// Load reads all that a daemon goes by: files, variables, flags. Anything that
// is not understood is an error: a host whose floor has a slip of the pen would
// otherwise have none.
func Load(o Options) (*Loaded, error) {
	l := &Loaded{Settings: Builtin(), root: o.Root}
	sources := o.Sources()
	for i, s := range sources {
		if err := l.file(s, i+1 < len(sources)); err != nil {
			return nil, err
		}
	}
	for _, k := range Keys() {
		if text := o.env(k.Env); k.Env != "" && k.Env != retentionEnv && text != "" {
			if err := l.text(k, text, FromEnv, k.Env); err != nil {
				return nil, err
			}
		}
	}
	l.retention(o.env(retentionEnv))
	for _, k := range Keys() {
		if text, given := o.Flags[k.Name]; given {
			if err := l.text(k, text, FromFlag, k.Flag); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

// file takes over what a file says. One that others follow also says what those
// may not go beyond.
func (l *Loaded) file(s Source, binds bool) error {
	text, found, err := s.open()
	if err != nil || !found {
		return err
	}
	floor := len(l.Policy.Network.Floor) > 0
	reach := l.Serve.Reach
	list, problems := read(s.Of, s.Path, text, &l.Settings)
	if s.Origin == FromSystem && !l.root {
		l.Serve.Reach = reach // of root's daemon: a second one could not listen there
	}
	if len(problems) > 0 {
		return firstOf(problems)
	}
	if binds {
		above := Settings{Policy: policy.Nothing()}
		for _, x := range list {
			if x.key.Binds {
				// It was understood a moment ago.
				_, _ = read(s.Of, s.Path, text, &above)
				l.Policy.Above = &above.Policy
				break
			}
		}
	}
	for _, x := range list {
		if x.key.Name == floorKey && floor {
			return forkbox.Errorf(forkbox.Invalid, "read "+s.Path, "line %d: %s: the host has a floor already, in %s", x.line, floorKey, l.Sources[0].Path).
				Hint("there is one floor: have the host's owner add to it, or say deny in the rules of your projects and boxes")
		}
		l.values = append(l.values, value{x, s.Origin, s.Path, x.key.get(&l.Settings, x.user)})
	}
	l.Sources = append(l.Sources, s)
	return nil
}

// floorKey is the one that cannot be joined from two files.
const floorKey = "network.floor.rules"

// text takes over what a variable or a flag says of a key.
func (l *Loaded) text(k *Key, text string, origin Origin, from string) error {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if err := k.set(&l.Settings, Place{from, nil}, n); err != nil {
		return problemOf(from, k.Name, 0, err).Err()
	}
	l.values = append(l.values, value{said{key: k, name: k.Name}, origin, from, k.get(&l.Settings, "")})
	return nil
}

// retention reads the whole policy from one variable. A mistake in it does not
// keep the daemon from starting: it removes no box then, which hurts nobody.
func (l *Loaded) retention(text string) {
	if text == "" {
		return
	}
	l.Retention.Policy, l.Retention.Err = l.Retention.With(text)
	for _, k := range Keys() {
		word, isOne := strings.CutPrefix(k.Name, "retention.")
		if isOne && strings.Contains(","+text, ","+word+"=") {
			l.values = append(l.values, value{said{key: k, name: k.Name}, FromEnv, retentionEnv, k.get(&l.Settings, "")})
		}
	}
}

// firstOf is the error for all of them.
func firstOf(problems []Problem) error {
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
	err := problems[0].Err()
	if more := len(problems) - 1; more > 0 {
		err.Hint("%s", fmt.Sprintf("there are %d more: forkbox config validate", more))
	}
	return err
}
