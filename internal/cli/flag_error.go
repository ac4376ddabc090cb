package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// expected says by the type of a flag what it takes, and gives an example. Flags
// with a type of their own say so themselves.
var expected = map[string]struct{ what, example string }{
	"int":      {"a whole number", "3"},
	"int64":    {"a whole number", "3"},
	"duration": {"a time with its unit", "90s"},
	"bool":     {"true or false", "true"},
}

// examples are for flags whose errors are of the domain, and so not about flags.
var examples = map[string]string{"rule": "git.example.com:443", "port": "5432", "name": "API_TOKEN"}

// flagError says in our words what is wrong with the value of a flag. Those of
// the libraries are about what they call to read it.
func flagError(verb *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	var none *pflag.ValueRequiredError
	var own *forkbox.Error
	switch {
	case errors.As(err, &own) && errors.As(err, &bad):
		shown := strings.Contains(strings.Join(own.Hints, "\n"), "for example")
		if example, has := examples[bad.GetFlag().Value.Type()]; has && !shown {
			return own.Hint("for example --%s=%s", bad.GetFlag().Name, example)
		}
		return err
	case errors.As(err, &bad):
		want, known := expected[bad.GetFlag().Value.Type()]
		if !known {
			return err
		}
		return exampleOf(verb, bad.GetFlag(), fmt.Sprintf("--%s takes %s, and %q is none", bad.GetFlag().Name, want.what, bad.GetValue()))
	case errors.As(err, &none):
		return exampleOf(verb, none.GetFlag(), fmt.Sprintf("--%s needs a value", none.GetFlag().Name))
	}
	return err
}

func exampleOf(verb *cobra.Command, flag *pflag.Flag, why string) error {
	e := forkbox.Errorf(forkbox.Invalid, "understand the command line", "%s", why)
	if want, known := expected[flag.Value.Type()]; known {
		e.Hint("for example --%s=%s", flag.Name, want.example)
	}
	return e.Hint("see: %s --help", verb.CommandPath())
}
