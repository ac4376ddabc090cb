package config

import (
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox/api"
)

// Validation is what was looked at, and all that is wrong with it.
type Validation struct {
	Files    []api.ConfigFile `json:"files"`
	Problems []Problem        `json:"problems"`
}

// Validate looks at all that counts for a caller: the daemon's files, the
// project's around a directory, and variables. It needs no daemon.
func Validate(o Options, dir string) Validation {
	v := Validation{Files: []api.ConfigFile{}, Problems: []Problem{}}
	sources := o.Sources()
	if project, ok := ProjectSource(dir); ok {
		sources = append(sources, project)
	}
	for _, s := range sources {
		v.file(s)
	}
	for _, k := range Keys() {
		if text := o.env(k.Env); k.Env != "" && text != "" && k.Env != retentionEnv {
			v.variable(k, text)
		}
	}
	if text := o.env(retentionEnv); text != "" {
		if _, err := Builtin().Retention.With(text); err != nil {
			v.Problems = append(v.Problems, problemOf(retentionEnv, "", 0, err))
		}
	}
	if len(v.Problems) == 0 { // each is fine by itself: are they together?
		if _, err := Load(o); err != nil {
			v.Problems = append(v.Problems, problemOf("the configuration", "", 0, err))
		}
	}
	return v
}

// ValidateFile looks at one file, wherever it lies. One that is called as a
// project's is read as one.
func ValidateFile(path string) Validation {
	s := Source{path, FromProject, OfConfig} // which has to be there
	if filepath.Base(path) == string(OfProject) {
		s.Of = OfProject
	}
	v := Validation{Files: []api.ConfigFile{}, Problems: []Problem{}}
	v.file(s)
	for i := range v.Files {
		v.Files[i].Origin = "given"
	}
	return v
}

func (v *Validation) file(s Source) {
	text, found, err := s.open()
	v.Files = append(v.Files, api.ConfigFile{Path: s.Path, Origin: string(s.Origin), Found: found})
	if err != nil {
		v.Problems = append(v.Problems, problemOf(s.Path, "", 0, err))
		return
	}
	into := Builtin()
	_, problems := read(s.Of, s.Path, text, &into)
	v.Problems = append(v.Problems, problems...)
}

func (v *Validation) variable(k *Key, text string) {
	into := Builtin()
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if err := k.set(&into, Place{From: k.Env}, n); err != nil {
		v.Problems = append(v.Problems, problemOf(k.Env, k.Name, 0, err))
	}
}

// ShowProject is what the project's file around a directory asks for; nothing
// where there is none.
func ShowProject(dir string) ([]api.Setting, error) {
	source, ok := ProjectSource(dir)
	if !ok {
		return nil, nil
	}
	l := &Loaded{Settings: Builtin()}
	if err := l.file(source, false); err != nil {
		return nil, err
	}
	var asked []api.Setting
	for _, s := range l.Show() {
		if s.File == string(OfProject) {
			asked = append(asked, s)
		}
	}
	return asked, nil
}
