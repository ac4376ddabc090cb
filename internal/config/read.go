package config

import (
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/spelling"
	"github.com/forkbox/forkbox/internal/strictyaml"
)

// Problem is something wrong in a file or a variable.
type Problem struct {
	From  string   `json:"from"`           // the file, or the variable
	Line  int      `json:"line,omitempty"` // 0: none
	Key   string   `json:"key,omitempty"`
	Why   string   `json:"why"`
	Hints []string `json:"hints,omitempty"`
}

// Err is the problem as the error of who needs the file.
func (p Problem) Err() *forkbox.Error {
	err := forkbox.Errorf(forkbox.Invalid, "read "+p.From, "%w", &strictyaml.Fault{Line: p.Line, Why: p.Why})
	err.Hints = slices.Clone(p.Hints)
	return err
}

// mostProblems is how many are told at once: after so many it is another kind of
// file.
const mostProblems = 50

// said is a key that a file has.
type said struct {
	key  *Key
	name string // with its NAME filled in
	user string // what was filled in
	line int
}

// reader reads one file into settings.
type reader struct {
	file     string
	into     *Settings
	said     []said
	problems []Problem
}

// read takes what a file says into settings. It goes on after a problem, so that
// all are told; the settings are of no use then.
func read(of Of, file string, text []byte, into *Settings) ([]said, []Problem) {
	r := &reader{file: file, into: into}
	top, fault := strictyaml.Document(text)
	if fault != nil {
		r.faulty("", fault)
	}
	if top != nil && !strictyaml.IsNull(top) {
		r.level(table().top[of], top, nil, "")
	}
	return r.said, r.problems
}

// level reads a mapping; no value at all is an empty one.
func (r *reader) level(l *level, n *yaml.Node, path []string, user string) {
	at := strings.Join(path, ".")
	if strictyaml.IsNull(n) {
		return
	}
	if !strictyaml.IsMapping(n) {
		r.faulty(at, strictyaml.NoMapping(n))
		return
	}
	asWritten := func(key *yaml.Node) (*yaml.Node, bool) { return key, len(r.problems) < mostProblems }
	for x, fault := range strictyaml.Pairs(n, asWritten) {
		if fault != nil {
			r.faulty(at, fault)
			continue
		}
		word := x.Key.Value
		next := l.child(word)
		if next == nil {
			r.unknown(x.Key, at, l.names)
			continue
		}
		here, whose := append(slices.Clone(path), word), user
		if next == l.any {
			whose = word
		}
		if next.key != nil {
			r.value(next.key, here, whose, x)
		}
		if next.key == nil || len(next.below) > 0 {
			r.level(next, x.Value, here, whose)
		}
	}
}

func (r *reader) unknown(key *yaml.Node, at string, known []string) {
	p := Problem{From: r.file, Line: key.Line, Key: at, Why: quoted(key.Value) + " is not something it knows"}
	if near := spelling.Nearest(key.Value, known); near != "" {
		p.Hints = append(p.Hints, "did you mean "+near+"?")
	}
	p.Hints = append(p.Hints, "the keys here are "+strings.Join(known, ", "))
	r.problems = append(r.problems, p)
}

func quoted(text string) string { return "\"" + strictyaml.Clip(text) + "\"" }

// value has the key read its value.
func (r *reader) value(k *Key, path []string, user string, x strictyaml.Pair) {
	name := k.named(quoteName(user))
	if err := k.set(r.into, Place{r.file, path}, x.Value); err != nil {
		r.problems = append(r.problems, problemOf(r.file, name, x.Value.Line, err))
		return
	}
	r.said = append(r.said, said{k, name, user, x.Key.Line})
}

func (r *reader) faulty(key string, f *strictyaml.Fault) {
	r.problems = append(r.problems, Problem{From: r.file, Line: f.Line, Key: key, Why: f.Why})
}

// problemOf is an error of who read a value, with the line that it knows, or
// else the value's.
func problemOf(from, key string, line int, err error) Problem {
	p := Problem{From: from, Line: line, Key: key, Why: err.Error()}
	var e *forkbox.Error
	if errors.As(err, &e) {
		p.Why, p.Hints = e.Why, e.Hints
	}
	var f *strictyaml.Fault
	if errors.As(err, &f) {
		p.Line, p.Why = f.Line, f.Why
	}
	return p
}
