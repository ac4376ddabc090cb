package retention

import (
	"errors"
	"strings"

	"github.com/forkbox/forkbox"
)

const (
	never   = "never"
	maxSize = "max-size"
	reading = "read the retention policy"
)

// ParsePolicy reads "applied=24h,failed=7d,max-size=50G". What is not named
// is as in [Default], so no text at all is the default. Anything it does not
// understand is an error, and the policy is then the zero one, which removes
// nothing: a slip of the pen must not cost a box.
func ParsePolicy(text string) (Policy, error) {
	p := Default()
	if text == "" {
		return p, nil
	}
	seen := map[string]bool{}
	for _, item := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(item, "=")
		switch {
		case !ok:
			return Policy{}, malformed("%q is not KEY=VALUE", item)
		case seen[key]:
			return Policy{}, malformed("%q is there twice", key)
		}
		seen[key] = true
		if err := p.set(key, value); err != nil {
			return Policy{}, err
		}
	}
	return p, nil
}

// set takes one KEY=VALUE into the policy.
func (p *Policy) set(key, value string) (err error) {
	if key == maxSize {
		p.MaxSize, err = ParseSize(value)
		return inPolicy(key, err)
	}
	age := p.age(Outcome(key))
	switch {
	case age == nil:
		return malformed("%q is not something it knows", key)
	case value == never:
		*age = 0
		return nil
	}
	*age, err = ParseAge(value)
	return inPolicy(key, err)
}

func malformed(format string, args ...any) *forkbox.Error {
	return forkbox.Errorf(forkbox.Invalid, reading, format, args...).
		Hint("it is a list without spaces, for example applied=24h,failed=7d,%s=50G", maxSize).
		Hint("the keys are applied, discarded, lost, failed, untouched, unreviewed and %s", maxSize)
}

// inPolicy says which key a bad value is of.
func inPolicy(key string, err error) error {
	var bad *forkbox.Error
	if !errors.As(err, &bad) {
		return err
	}
	e := forkbox.Errorf(bad.Code, reading, "%s: %s", key, bad.Why)
	e.Hints = bad.Hints
	if key != maxSize {
		e.Hint("%s=%s keeps them for ever", key, never)
	}
	return e
}
