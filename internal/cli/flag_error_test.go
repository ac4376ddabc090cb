package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestBadFlagsSayWhatIsExpected gives each flag of each verb a value that it
// cannot have: none may answer in the words of what reads it.
func TestBadFlagsSayWhatIsExpected(t *testing.T) {
	a := app.New("", nil, io.Discard, io.Discard)
	checked := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(verb *cobra.Command) {
		verb.LocalFlags().VisitAll(func(f *pflag.Flag) {
			err := verb.ParseFlags([]string{"--" + f.Name + "=5x?"})
			if err == nil || f.Value.Type() == "string" {
				return
			}
			checked[f.Value.Type()] = true
			e := app.AsError(verb, verb.FlagErrorFunc()(verb, err))
			text := e.Error() + "\n" + strings.Join(e.Hints, "\n")
			for _, words := range []string{"strconv", "parsing", "time: ", "invalid syntax"} {
				if strings.Contains(text, words) {
					t.Errorf("%s --%s: %s", verb.CommandPath(), f.Name, text)
				}
			}
			if !strings.Contains(text, "for example") && !strings.Contains(text, "it is one of") && !strings.Contains(text, f.Name+"=") {
				t.Errorf("%s --%s does not say what it takes: %s", verb.CommandPath(), f.Name, text)
			}
		})
		for _, below := range verb.Commands() {
			walk(below)
		}
	}
	walk(root(a))
	for kind := range expected {
		if !checked[kind] {
			t.Errorf("no flag is a %s: nothing was shown of them", kind)
		}
	}
}

// TestFlagWithoutValue: the same for one that has none.
func TestFlagWithoutValue(t *testing.T) {
	a := app.New("", nil, io.Discard, io.Discard)
	verb, _, err := root(a).Find([]string{"fork"})
	if err != nil {
		t.Fatal(err)
	}
	e := app.AsError(verb, verb.FlagErrorFunc()(verb, verb.ParseFlags([]string{"--count"})))
	if want := "cannot understand the command line: --count needs a value"; e.Error() != want || len(e.Hints) == 0 || e.Hints[0] != "for example --count=3" {
		t.Errorf("%s, hints %q", e, e.Hints)
	}
}
