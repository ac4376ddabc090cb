package racefile

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

func TestTry(t *testing.T) {
	for arg, want := range map[string]string{
		"dep=npm update left-pad":           "dep|npm update left-pad",
		"npm update":                        "|npm update",
		"npm run x --flag=1":                "|npm run x --flag=1",
		"./x=1":                             "|./x=1",
		"a=B=1 make":                        "a|B=1 make",
		"a==b":                              "a|=b",
		"a= x ":                             "a| x ",
		"CI=1 npm test":                     "!if CI is a variable",
		"a_b=x":                             "!lower-case",
		"a.b=x":                             "!lower-case",
		"-a=x":                              "!not a dash first",
		"setup=x":                           "!choose another name",
		"=x":                                "!no name before",
		"dep=":                              "!has no command",
		"dep=  ":                            "!has no command",
		"":                                  "!has no command",
		"a=\x00":                            "!NUL",
		"a=" + strings.Repeat("x", 128<<10): "!131071 is the most",
	} {
		a, err := Try(arg)
		got := a.Name + "|"
		if len(a.Steps) > 0 {
			got += a.Steps[0].Run
		}
		if bad, refused := strings.CutPrefix(want, "!"); refused {
			if err == nil || !strings.Contains(text(err), bad) || len(text(err)) > 1000 {
				t.Errorf("%.50q: %.300v", arg, err)
			}
		} else if err != nil || got != want {
			t.Errorf("%q: %q, %v", arg, got, err)
		}
	}
}

func text(err error) string {
	e, ok := err.(*forkbox.Error)
	if !ok {
		return ""
	}
	return e.Error() + "\n" + strings.Join(e.Hints, "\n")
}

func FuzzTry(f *testing.F) {
	f.Add("dep=npm update")
	f.Add("CI=1 x")
	f.Fuzz(func(t *testing.T, arg string) {
		a, err := Try(arg)
		if err != nil {
			if forkbox.CodeOf(err) != forkbox.Invalid {
				t.Fatal(err)
			}
			return
		}
		if whole := a.Name + "=" + a.Steps[0].Run; whole != arg && (a.Name != "" || a.Steps[0].Run != arg) {
			t.Fatalf("%q became %q", arg, whole)
		}
	})
}

func TestSamples(t *testing.T) {
	list := []forkbox.Approach{{Name: "a", Env: forkbox.Strings{"X=1"}}, {Name: "b"}}
	var names []string
	all := Samples(list, 3)
	for _, a := range all {
		names = append(names, a.Name)
	}
	if got := strings.Join(names, " "); got != "a-1 a-2 a-3 b-1 b-2 b-3" {
		t.Error(got)
	}
	if all[0].Env[0] = "X=2"; all[1].Env[0] != "X=1" || list[0].Env[0] != "X=1" {
		t.Error("samples share their environment")
	}
	if got := Samples(list, 1); len(got) != 2 || got[0].Name != "a" {
		t.Errorf("%+v", got)
	}
}

func TestAgents(t *testing.T) {
	list, err := Agents("claude -p {prompt}", []string{"one", "two"}, 2)
	var names []string
	for _, a := range list {
		names = append(names, a.Name+":"+a.Prompt+":"+strings.Join(a.Env, ","))
	}
	if want := "agent-1-1:one:FORKBOX_PROMPT=one agent-1-2:one:FORKBOX_PROMPT=one agent-2-1:two:FORKBOX_PROMPT=two agent-2-2:two:FORKBOX_PROMPT=two"; err != nil || strings.Join(names, " ") != want {
		t.Errorf("%v: %q", err, names)
	}
	if one, err := Agents("x", []string{"a"}, 0); err != nil || len(one) != 1 || one[0].Name != "agent" {
		t.Errorf("%+v, %v", one, err)
	}
	if own, err := Agents("./agent.sh", nil, 2); err != nil || len(own) != 2 || own[1].Name != "agent-2" || own[1].Env[0] != "FORKBOX_PROMPT=" {
		t.Errorf("%+v, %v", own, err)
	}
	for bad, err := range map[string]error{
		"--agent":     second(Agents(" ", []string{"a"}, 1)),
		"--prompt":    second(Agents("x {prompt}", nil, 1)),
		"is empty":    second(Agents("x", []string{"a", " \n"}, 1)),
		"too many":    second(Agents("x", []string{"a"}, 257)),
		"5 prompts":   second(Agents("x", []string{"a", "a", "a", "a", "a"}, 1<<62)),
		"-1 times":    second(Agents("x", []string{"a"}, -1)),
		"NUL":         second(Agents("x", []string{"a\x00"}, 1)),
		"is the most": second(Agents("x", []string{strings.Repeat("x", 128<<10)}, 1)),
	} {
		if err == nil || !strings.Contains(text(err), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestPromptIsOneWord has sh read commands with all kinds of prompts, in all
// kinds of quotes: the prompt arrives as it is, and is never run.
func TestPromptIsOneWord(t *testing.T) {
	const show = `printf '<%s>' `
	templates := map[string][2]string{ // what is printed before and after the prompt
		show + `{prompt}`:                       {"<", ">"},
		show + `"{prompt}"`:                     {"<", ">"},
		show + `'{prompt}'`:                     {"<", ">"},
		show + `"it's: {prompt}!"`:              {"<it's: ", "!>"},
		show + `'say "{prompt}"'`:               {`<say "`, `">`},
		show + `--ask={prompt}`:                 {"<--ask=", ">"},
		show + `"$(printf %s "{prompt}")."`:     {"<", ".>"},
		show + `"$(true)$( (true) )'{prompt}'"`: {"<'", "'>"},
		show + `\"{prompt}\"`:                   {`<"`, `">`},
	}
	rapid.Check(t, func(t *rapid.T) {
		prompt := rapid.OneOf(rapid.SampledFrom([]string{"it's", `"; exit 9; "`, "$(exit 9)", "`exit 9`", "{prompt}", "a\n\n b", "-n", "* ~ $HOME \\", "'"}), rapid.StringN(1, 20, 60)).Draw(t, "prompt")
		prompt = strings.ReplaceAll(prompt, "\x00", "") + "."
		template := rapid.SampledFrom(keys(templates)).Draw(t, "template")
		list, err := Agents(template, []string{prompt}, 1)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", list[0].Steps[0].Run)
		cmd.Env = list[0].Env
		out, err := cmd.CombinedOutput()
		if want := templates[template][0] + prompt + templates[template][1]; err != nil || string(out) != want {
			t.Fatalf("%s with %q: %q, %v", list[0].Steps[0].Run, prompt, out, err)
		}
	})
}

func keys(m map[string][2]string) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}
