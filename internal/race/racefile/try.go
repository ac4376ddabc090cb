package racefile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/strictyaml"
)

// Try reads an approach as --try has it: NAME=COMMAND, or a command alone, to
// which the caller gives a name.
func Try(arg string) (forkbox.Approach, error) {
	const op = "understand --try"
	name, run, named := strings.Cut(arg, "=")
	if !named || strings.Trim(name, nameLetters) != "" {
		name, run = "", arg
	}
	switch {
	case named && name == "" && strings.HasPrefix(arg, "="):
		return forkbox.Approach{}, forkbox.Errorf(forkbox.Invalid, op, "there is no name before the = in %q", strictyaml.Clip(arg))
	case strings.TrimSpace(run) == "":
		return forkbox.Approach{}, forkbox.Errorf(forkbox.Invalid, op, "%q has no command", strictyaml.Clip(arg)).Hint("for example --try 'dep=npm update left-pad'")
	}
	a := forkbox.Approach{Name: name, Steps: []forkbox.Command{{Run: run}}}
	checked := a
	if name == "" {
		checked.Name = "try"
	}
	if err := (forkbox.RaceSpec{Approaches: []forkbox.Approach{checked}}).Check(); err != nil {
		return forkbox.Approach{}, refusedTry(arg, name, err)
	}
	return a, nil
}

const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// refusedTry says what is wrong with one. CI=1 npm test looks like an approach
// that is called CI.
func refusedTry(arg, name string, err error) error {
	e := err.(*forkbox.Error)
	bad := forkbox.Errorf(forkbox.Invalid, "understand --try", "%s", e.Items[0].Why)
	bad.Hints = e.Hints
	if strings.HasSuffix(e.Items[0].Path, ".name") {
		bad.Hint("if %s is a variable, name the approach before it: --try 'NAME=%s'", strictyaml.Clip(name), strictyaml.Clip(arg))
	}
	return bad
}

// Samples are n of each approach: NAME-1, NAME-2 …
func Samples(list []forkbox.Approach, n int) []forkbox.Approach {
	if n <= 1 {
		return list
	}
	all := make([]forkbox.Approach, 0, len(list)*n)
	for _, a := range list {
		for i := range n {
			sample := a
			sample.Name = fmt.Sprintf("%s-%d", a.Name, i+1)
			sample.Env, sample.Steps = slices.Clone(a.Env), slices.Clone(a.Steps)
			all = append(all, sample)
		}
	}
	return all
}
