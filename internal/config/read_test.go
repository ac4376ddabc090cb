package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// asFile is a file in which one key has its example.
func asFile(k *Key, value string) string {
	text, indent := "", ""
	for word := range strings.SplitSeq(k.named("alice"), ".") {
		text += "\n" + indent + word + ":"
		indent += "  "
	}
	return strings.TrimPrefix(text, "\n") + " " + value + "\n"
}

func example(k *Key) string {
	if k.Kind.Schema == nil {
		return "{}"
	}
	return k.Kind.Example
}

// TestEveryKey: each is read, from a file of its own, into something that reads
// as it was written; what it does not understand it refuses with the line.
func TestEveryKey(t *testing.T) {
	for _, k := range Keys() {
		s := Builtin()
		said, problems := read(k.Of, "x.yaml", []byte(asFile(k, example(k))), &s)
		if len(problems) > 0 {
			t.Errorf("%s: %v", k.Name, problems)
			continue
		}
		last := said[len(said)-1]
		if last.key != k || last.line != strings.Count(k.Name, ".")+1 || last.name != k.named("alice") {
			t.Errorf("%s: %+v", k.Name, said)
		}
		if text := k.get(&s, "alice"); text == "" && k.Kind.Schema != nil {
			t.Errorf("%s: %s is read as nothing", k.Name, k.Kind.Example)
		} else if again := Builtin(); text != "" && !k.Secret {
			if _, problems := read(k.Of, "x.yaml", []byte(asFile(k, yamlText(text))), &again); len(problems) > 0 || !reflect.DeepEqual(s, again) {
				t.Errorf("%s: %s becomes %s, which is something else: %v", k.Name, k.Kind.Example, text, problems)
			}
		}
		_, problems = read(k.Of, "x.yaml", []byte(asFile(k, "[[not, a], value]")), &s)
		if k.Kind.Schema != nil && (len(problems) != 1 || problems[0].Line != last.line || !strings.HasPrefix(problems[0].Key, last.name)) {
			t.Errorf("%s: %+v", k.Name, problems)
		}
		if len(k.Doc) < 10 || strings.HasSuffix(k.Doc, ".") || k.Kind.Word == "" || k.Of == "" {
			t.Errorf("%s: %+v", k.Name, k)
		}
	}
}

// yamlText quotes what YAML would take for something else.
func yamlText(text string) string {
	if strings.HasPrefix(text, "[") && strings.ContainsAny(text, ":*") {
		return `["` + strings.ReplaceAll(text[1:len(text)-1], ", ", `", "`) + `"]`
	}
	if strings.Contains(text, ":") && !strings.HasPrefix(text, "{") {
		return `"` + text + `"`
	}
	return text
}

// TestProblems: all mistakes of a file are told, each with its line, and with
// what may have been meant.
func TestProblems(t *testing.T) {
	const text = `limits:
  memry: 2g
  cpus: lots
admision: {}
log:
  level: loud
network:
  floor:
    rules:
      - allow *
      - alow x
users:
  "a b": {}
  alice: {quota: {boxes: -1}}
  alice: {}
serve: 5m
reserve: {memory: {least: 1g}}
retention: {applied: soon, lots: 1d}
undo:
  age: 0
`
	s := Builtin()
	_, problems := read(OfConfig, "x.yaml", []byte(text), &s)
	want := []struct {
		line      int
		key, why  string
		suggested string
	}{
		{2, "limits", `"memry" is not something it knows`, "memory"},
		{3, "limits.cpus", `cpus: "lots" is no value for it`, ""},
		{4, "", `"admision" is not something it knows`, "admission"},
		{6, "log.level", `"loud" is no value for it`, ""},
		{11, "network.floor.rules", `rules: it begins with "alow", not with allow or deny`, ""},
		{13, "users.a b", `"a b" is no name of a user`, ""},
		{14, "users.alice.quota.boxes", `boxes: "-1" is no value for it`, ""},
		{15, "users", `"alice" is there twice`, ""},
		{16, "serve", `there should be "key: value" lines`, ""},
		{17, "reserve.memory", "memory: there is no share", ""},
		{18, "retention.applied", `applied: "soon" is not an age above zero`, ""},
		{18, "retention", `"lots" is not something it knows`, "lost"},
		{20, "undo.age", "0s is too little", ""},
	}
	for i, p := range problems {
		if i >= len(want) {
			t.Errorf("and %+v", p)
			continue
		}
		w := want[i]
		hints := strings.Join(p.Hints, "\n")
		if p.Line != w.line || p.Key != w.key || !strings.Contains(p.Why, w.why) || p.From != "x.yaml" || w.suggested != "" && !strings.Contains(hints, "did you mean "+w.suggested+"?") {
			t.Errorf("%+v, not %+v", p, w)
		}
		if err := p.Err(); forkbox.CodeOf(err) != forkbox.Invalid || !strings.HasPrefix(err.Error(), "cannot read x.yaml: line ") {
			t.Error(err)
		}
	}
	if len(problems) < len(want) {
		t.Errorf("%d of %d: %+v", len(problems), len(want), problems)
	}
}

// TestProjectProblems: a project's file has its own keys, and no others.
func TestProjectProblems(t *testing.T) {
	for text, why := range map[string]string{
		"network: {net: host}\n":      "a file cannot give boxes the host's network",
		"network:\n  floor: {}\n":     `"floor" is not something it knows`,
		"defaults: {memory: 1g}\n":    `"defaults" is not something it knows`,
		"log: {level: debug}\n":       `"log" is not something it knows`,
		"limits: {memory: 1g}\n---\n": "a second document begins here",
	} {
		s := Builtin()
		if _, problems := read(OfProject, "forkbox.yaml", []byte(text), &s); len(problems) != 1 || problems[0].Why != why {
			t.Errorf("%q: %+v", text, problems)
		}
	}
	many := strings.Repeat("x: 1\n", 10_000)
	if _, problems := read(OfProject, "forkbox.yaml", []byte(many), &Settings{}); len(problems) > mostProblems {
		t.Errorf("%d problems", len(problems))
	}
}

// FuzzRead: no text makes the reader fall over, a file that has no problem has
// values that read as they were written, and a problem has a reason.
func FuzzRead(f *testing.F) {
	for _, k := range Keys() {
		f.Add(asFile(k, example(k)), k.Of == OfProject)
	}
	f.Add("limits: &a {memory: 1g}\ndefaults: *a\n", false)
	f.Add("users: {<<: {a: {}}, \"*\": , 07: {}}\n", false)
	f.Fuzz(func(t *testing.T, text string, project bool) {
		of := OfConfig
		if project {
			of = OfProject
		}
		s := Builtin()
		said, problems := read(of, "x.yaml", []byte(text), &s)
		for _, p := range problems {
			if p.Why == "" || p.From != "x.yaml" || p.Line < 0 || strings.Contains(p.Why, "line ") && p.Line == 0 {
				t.Fatalf("%+v", p)
			}
		}
		if len(problems) > 0 {
			return
		}
		for _, x := range said {
			value := x.key.get(&s, x.user)
			if x.key.Of != of || x.line < 1 || value != x.key.get(&s, x.user) {
				t.Fatalf("%+v is %q", x, value)
			}
		}
	})
}
