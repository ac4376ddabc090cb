package rules

import (
	"cmp"
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/forkbox/forkbox"
	"go.yaml.in/yaml/v3"
)

// Host is what the daemon's configuration says of the networks of boxes.
type Host struct {
	// Preset is for boxes of which nothing was said; empty: balanced.
	Preset string
	// Project is what a project's file may ask for by itself.
	Project Project
	// Find looks for what this machine's tools are configured to use, where
	// who asks did not.
	Find func() []forkbox.NetRule
}

// Resolve makes of what was asked for the network that holds: the rules said
// for the box, those of its project, those of the preset. Secrets have no
// placeholders yet.
func Resolve(wish forkbox.NetWish, host Host) (forkbox.Network, error) {
	if err := wish.Check(); err != nil {
		return forkbox.Network{}, err
	}
	project := forkbox.NetWish{}
	if wish.Project != nil {
		project = *wish.Project
	}
	if err := host.Project.check(wish, project); err != nil {
		return forkbox.Network{}, err
	}
	n := forkbox.Network{Preset: cmp.Or(wish.Preset, project.Preset, host.Preset, forkbox.PresetBalanced), Asked: &wish}
	var err error
	if n.Rules, err = rulesOf(wish, project, n.Preset, host.Find); err != nil {
		return forkbox.Network{}, err
	}
	n.LetIn = union(wish.LetIn, project.LetIn)
	n.HostPorts = union(union(wish.HostPorts, project.HostPorts), n.LetIn)
	n.Terminate, n.Pinned = union(wish.Terminate, project.Terminate), union(wish.Pinned, project.Pinned)
	if n.Secrets, err = secretsOf(union(wish.Secrets, project.Secrets)); err != nil {
		return forkbox.Network{}, err
	}
	if _, err := New(n.Rules, nil, Options{HostPorts: n.HostPorts, Terminate: n.Terminate, Pinned: n.Pinned}); err != nil {
		return forkbox.Network{}, err
	}
	return n, nil
}

func rulesOf(wish, project forkbox.NetWish, preset string, find func() []forkbox.NetRule) ([]forkbox.NetRule, error) {
	mine, err := canonical(wish.Rules, "box")
	if err != nil {
		return nil, err
	}
	theirs, err := canonical(project.Rules, strings.TrimSpace(projectPrefix+" "+oneLine(wish.ProjectFile)))
	if err != nil {
		return nil, err
	}
	found := wish.Found
	if found == nil && find != nil && preset == forkbox.PresetBalanced {
		found = find()
	}
	last, err := Preset(preset, found)
	return slices.Concat(mine, theirs, last), err
}

// canonical has each rule in its one way of writing, so that it can be found
// again to be removed.
func canonical(texts []string, from string) ([]forkbox.NetRule, error) {
	var rules []forkbox.NetRule
	for _, text := range texts {
		r, err := read(text)
		if err != nil {
			return nil, err
		}
		rules = append(rules, forkbox.NetRule{Rule: r.text, From: from})
	}
	return rules, nil
}

func union[T comparable](a, b []T) []T {
	var all []T
	for _, v := range slices.Concat(a, b) {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

func secretsOf(names []string) (map[string]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	all := map[string]string{}
	for _, name := range names {
		if err := CheckSecret(name); err != nil {
			return nil, err
		}
		all[name] = ""
	}
	return all, nil
}

// CheckSecret says whether a secret can have that name: those of environment
// variables can.
func CheckSecret(name string) error {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
	if name == "" || len(name) > 128 || strings.Trim(name, letters+"0123456789") != "" || !strings.Contains(letters, name[:1]) {
		return forkbox.Errorf(forkbox.Invalid, "use the secret", "%s is no name of one", quoted(name)).
			Hint("it is like that of an environment variable: letters, digits and _")
	}
	return nil
}

// Project is what a project's file may do beyond naming public hosts. A
// repository that a user clones must not open their network or use their
// credentials, unless the host's owner wants that.
type Project struct{ HostPorts, Secrets, Private bool }

// check refuses what a project may not ask for by itself, unless its user asks
// for the same.
func (may Project) check(user, project forkbox.NetWish) error {
	if !may.HostPorts {
		if port, is := firstNotIn(project.LetIn, user.LetIn); is {
			text := strconv.Itoa(port)
			return notByItself("port "+text+" of the host", "--let-in "+text, "host-ports")
		}
		if port, is := firstNotIn(project.HostPorts, union(user.HostPorts, user.LetIn)); is {
			text := strconv.Itoa(port)
			return notByItself("port "+text+" of the host", "--host-port "+text, "host-ports")
		}
	}
	if !may.Secrets {
		if name, is := firstNotIn(project.Secrets, user.Secrets); is {
			return notByItself("the secret "+oneLine(name), "--secret "+oneLine(name), "secrets")
		}
	}
	if may.Private {
		return nil
	}
	return checkNearby(user.Rules, project.Rules)
}

// checkNearby refuses rules of a project that open what is not public.
func checkNearby(user, project []string) error {
	said := map[string]bool{}
	for _, text := range user {
		if r, err := Parse(text); err == nil {
			said[r.String()] = true
		}
	}
	for _, text := range project {
		r, err := Parse(text)
		if err != nil {
			return err
		}
		if r.nearby() && !said[r.String()] {
			return notByItself("`"+r.String()+"`", "--allow '"+r.Object()+"'", "private")
		}
	}
	return nil
}

func firstNotIn[T comparable](wanted, said []T) (T, bool) {
	for _, v := range wanted {
		if !slices.Contains(said, v) {
			return v, true
		}
	}
	var none T
	return none, false
}

// notByItself says what its user can type instead.
func notByItself(what, flag, key string) error {
	return forkbox.Errorf(forkbox.Denied, "use the project's network", "its file asks for %s, which a project cannot open by itself", what).
		Hint("%s allows it for this box", flag).
		Hint("network: {project: {%s: true}} in the host's config.yaml allows it for every project", key)
}

//go:embed presets.yaml
var presetsFile []byte

// presets reads the file once. It is part of the program, and a test reads it:
// what is wrong with it is found there.
var presets = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	if err := yaml.Unmarshal(presetsFile, &all); err != nil {
		panic(err)
	}
	return all
})

// CheckPreset says whether there is a preset of that name.
func CheckPreset(name string) error {
	if _, has := presets()[name]; has {
		return nil
	}
	return forkbox.Errorf(forkbox.Invalid, "use the preset", "there is none called %s", quoted(name)).
		Hint("there are %s", strings.Join(slices.Sorted(maps.Keys(presets())), ", "))
}

// Preset is the rules of a preset. Those of balanced begin with found: what
// this machine's tools are configured to use.
func Preset(name string, found []forkbox.NetRule) ([]forkbox.NetRule, error) {
	if err := CheckPreset(name); err != nil {
		return nil, err
	}
	var rules []forkbox.NetRule
	if name == forkbox.PresetBalanced {
		var err error
		if rules, err = foundRules(found); err != nil {
			return nil, err
		}
	}
	for _, text := range presets()[name] {
		r, err := read(text)
		if err != nil {
			return nil, err
		}
		rules = append(rules, forkbox.NetRule{Rule: r.text, From: "preset " + name})
	}
	return rules, nil
}

// foundRules are those that allow, each once. The finder says where, but cannot
// say that a user wrote them.
func foundRules(found []forkbox.NetRule) ([]forkbox.NetRule, error) {
	const from = "preset " + forkbox.PresetBalanced
	var rules []forkbox.NetRule
	seen := map[string]bool{}
	for _, f := range found {
		r, err := read(f.Rule)
		switch text := r.text; {
		case err != nil:
			return nil, err
		case !r.Allow:
			return nil, forkbox.Errorf(forkbox.Invalid, "use the preset "+forkbox.PresetBalanced, "%s was found, and only what is allowed can be", quoted(text))
		case !seen[text]:
			seen[text] = true
			where := strings.TrimPrefix(strings.TrimPrefix(f.From, from), ": ")
			rules = append(rules, forkbox.NetRule{Rule: text, From: joined(from, where)})
		}
	}
	return rules, nil
}

// joined is who wrote a rule, in one line whatever the name of the file.
func joined(from, where string) string {
	if where == "" {
		return from
	}
	return from + ": " + oneLine(where)
}

// oneLine is a text as it is where that is one line of letters, else quoted.
func oneLine(text string) string {
	if q := strconv.QuoteToGraphic(text); q[1:len(q)-1] != text {
		return q
	}
	return text
}
