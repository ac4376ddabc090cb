//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestRaceFileErrors: what is wrong with a race file is said with its line, and
// nothing is begun.
func TestRaceFileErrors(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	for name, c := range map[string]struct {
		text  string
		words []string
	}{
		"an unknown key":               {"approaches:\n  - name: a\n    run: 'true'\n    chekcs: 1\n", []string{":4:", "chekcs"}},
		"near a known one":             {"approachs:\n  - {name: a, run: 'true'}\n", []string{":1:", "approaches"}},
		"no yaml":                      {"approaches: [\n  {name: a\n", []string{".yaml:"}},
		"a tab":                        {"approaches:\n\t- a\n", []string{":2:"}},
		"twice the same name":          {"approaches:\n  - {name: a, run: 'true'}\n  - {name: a, run: 'true'}\n", []string{"a"}},
		"twice the same key":           {"seed: 1\nseed: 2\napproaches: [{name: a, run: 'true'}]\n", []string{":2:", "seed"}},
		"a wrong type":                 {"approaches: [{name: a, run: 'true'}]\nparallel: many\n", []string{":2:", "parallel"}},
		"a wrong duration":             {"approaches: [{name: a, run: 'true'}]\ndeadline: soon\n", []string{":2:", "soon"}},
		"a wrong regexp":               {"approaches: [{name: a, run: 'true'}]\nmetrics:\n  - {name: m, run: x, pattern: '('}\n", []string{":3:"}},
		"nothing to run":               {"approaches: [{name: a}]\n", []string{"a"}},
		"no approaches":                {"checks: ['true']\n", []string{"approaches"}},
		"an empty file":                {"", []string{":1:"}},
		"a prompt, no agent":           {"approaches:\n  - {name: a, prompt: do it}\n", []string{":2:", "agent"}},
		"a name with a slash":          {"approaches:\n  - {name: a/b, run: 'true'}\n", []string{"a/b"}},
		"a stop rule":                  {"approaches: [{name: a, run: 'true'}]\nstop: never\n", []string{":2:", "first-pass"}},
		"two documents":                {"approaches: [{name: a, run: 'true'}]\n---\na: 1\n", []string{":2:", "second document"}},
		"a name that a terminal obeys": {"approaches: [{name: a, run: 'true'}]\nchecks:\n  - {run: x, name: \"\\e[31m\"}\n", []string{":3:", "name"}},
		"binary":                       {"\x00\xff\x1b[31m\x07garbage\x80", []string{":1:", "no text"}},
		"billion laughs":               {laughs(), []string{".yaml:"}},
		"too deep":                     {strings.Repeat("[", 100000), []string{":1:", "depth"}},
		"too large":                    {"name: a\n#" + strings.Repeat("x", 3<<20), []string{"1048576"}},
		"too many approaches":          {"approaches: [{name: a, run: 'true', n: 100000}]\n", []string{":1:", "256"}},
		"negative retries":             {"approaches: [{name: a, run: 'true'}]\nretries: -1\n", []string{"retries"}},
		"several things at once":       {"approaches: [{name: a, run: 'true'}]\nparalel: 1\nsedd: 2\n", []string{":2:", ":3:"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := w.as(t)
			said := w.refused(c.words, "race", "-f", w.raceFile(c.text))
			tame(t, said, nil)
			if len(said) > 20000 {
				t.Errorf("it says %d bytes", len(said))
			}
		})
	}
	if all := w.races(); len(all) != 0 {
		t.Errorf("races were begun: %+v", all)
	}
}

// laughs is a small file that means a very large one.
func laughs() string {
	var b strings.Builder
	b.WriteString("setup:\n  - &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, "  - &a%d [%s]\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.String() + "approaches: [{name: a, steps: *a11}]\n"
}

// TestRaceFileElsewhere: from stdin, one that is not there, a directory, and
// nothing at all.
func TestRaceFileElsewhere(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	cmd := w.command("race", "-f", "-", "--json", "--name", "piped")
	cmd.Stdin = strings.NewReader("name: other\napproaches: [{name: a, run: 'true'}]\n")
	out, said, code := w.finish(cmd)
	if r := w.ended(out); code != 0 || r.Name != "piped" {
		t.Errorf("exit %d: %s %s", code, r.Name, said)
	}
	w.refused([]string{"no-such-file"}, "race", "-f", "no-such-file")
	w.refused(nil, "race", "-f", w.ws)
	w.refused([]string{"--try"}, "race")
	w.write("race.yaml", "approaches: [{name: a, run: 'true'}]\n")
	w.refused([]string{"-f race.yaml"}, "race")
	w.refused([]string{"--try"}, "race", "-f", "race.yaml", "--try", "b=true")
	w.refused(nil, "race", "--try", "=true")
	w.refused(nil, "race", "--try", "a=")
	w.refused(nil, "race", "--try", "a=true", "--try", "a=false")
	w.refused(nil, "race", "--try", "a=true", "--n", "0")
	w.refused(nil, "race", "--try", "a=true", "--n", "1000")
	w.refused(nil, "race", "--name", "../../etc", "--try", "a=true")
	w.refused(nil, "race", "-f", "/dev/null")
}
