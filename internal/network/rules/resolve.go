package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
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
	n.HostPorts = union(wish.HostPorts, project.HostPorts)
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
