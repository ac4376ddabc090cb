// Package services finds what listens on this machine: the databases, caches and
// servers that a box would need copies of, and where each keeps its data.
package services

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// recipe is what is known of one kind of service. Each is a file that a person
// can read, and add.
type recipe struct {
	Name     string   `yaml:"name"`
	Programs []string `yaml:"programs"`
	Data     struct {
		// Marker is a file that the data directory has. Where the working
		// directory lacks it, the service keeps its data where it is not looked for.
		Marker string `yaml:"marker"`
		// Paths are relative to the working directory; those that are not there
		// do not count.
		Paths []string `yaml:"paths"`
		// Links are patterns of symlinks, whose targets are data as well.
		Links []string `yaml:"links"`
	} `yaml:"data"`
	Start starting `yaml:"start"`
	Copy  struct {
		// Online is a command of the engine's that writes a copy to its standard
		// output while the service goes on. {port} and {socketdir} are where the
		// service listens. It is used where the data is in one place.
		Online []string `yaml:"online"`
		// Memory says that the files are older than what the engine has in memory.
		Memory bool `yaml:"memory"`
		// Gives is what it writes: tar, or the file of this name.
		Gives string `yaml:"gives"`
		// Drop are patterns of names in the data that a copy must not have.
		Drop []string `yaml:"drop"`
		// Durable says that the engine survives power failures, as it syncs what it
		// depends on, so that it need not stand still for a snapshot.
		Durable durable `yaml:"durable"`
	} `yaml:"copy"`
}

// durable is when an engine survives power failures.
type durable struct {
	// Unless are expressions: one that is found in the command line, or in a line of
	// Config, says that its owner has switched that off.
	Unless []pattern `yaml:"unless"`
	// Config are names of files in the data; so is each file of the command line
	// that ends with .conf or .cnf.
	Config []string `yaml:"config"`
}

// starting is what a recipe says of how a copy is started. In its words {port},
// {dir}, {bindir}, {socket}, {socketdir} and {answer} stand for the service's.
type starting struct {
	// Argv is the command, where that of the service cannot be read off its
	// process: some write a title over it.
	Argv []string `yaml:"argv"`
	// Keep are options, with a value each, that are carried over from there.
	Keep []string `yaml:"keep"`
	// Omit are arguments of the service that a copy is started without.
	Omit []string `yaml:"omit"`
	// Ask is sent to the port; what follows Find in the answer is {answer}.
	Ask  string `yaml:"ask"`
	Find string `yaml:"find"`
	// Add are arguments that keep a copy from acting for the service, and Since
	// those that only versions from a number on have, which the marker's file says.
	Add   []string         `yaml:"add"`
	Since map[int][]string `yaml:"since"`
	// When are those for services that keep data of a name.
	When map[string][]string `yaml:"when"`
	// Ready is a command that succeeds when the service answers.
	Ready    []string      `yaml:"ready"`
	Patience time.Duration `yaml:"patience"`
	Stop     string        `yaml:"stop"` // the signal that ends it; TERM if empty
	// Reach are variables that lead programs to the service. One with a word that
	// stands for nothing is left out.
	Reach []string `yaml:"reach"`
}

// pattern is a regular expression.
type pattern struct{ *regexp.Regexp }

func (p *pattern) UnmarshalYAML(node *yaml.Node) (err error) {
	p.Regexp, err = regexp.Compile(node.Value)
	return err
}

// generic is the recipe of what has none: its data is what it writes to.
const generic = "generic"

//go:embed recipes/*.yaml
var files embed.FS

// recipes are read when a service is first looked for.
var recipes = sync.OnceValues(func() ([]recipe, error) {
	names, err := files.ReadDir("recipes")
	if err != nil {
		return nil, err
	}
	var all []recipe
	for _, name := range names {
		text, err := files.ReadFile(path.Join("recipes", name.Name()))
		if err != nil {
			return nil, err
		}
		r, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("recipe %s: %w", name.Name(), err)
		}
		all = append(all, r)
	}
	return all, nil
})

func parse(text []byte) (r recipe, err error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err = dec.Decode(&r); err != nil {
		return r, err
	}
	if r.Name == "" || len(r.Programs) == 0 {
		return r, fmt.Errorf("it needs a name and programs")
	}
	if (len(r.Copy.Online) > 0) != (r.Copy.Gives != "") {
		return r, fmt.Errorf("a command that copies needs to say what it gives")
	}
	return r, nil
}

// match is the recipe for a program that goes by some names.
func match(all []recipe, names ...string) *recipe {
	for i := range all {
		if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(all[i].Programs, n) }) {
			return &all[i]
		}
	}
	return nil
}
