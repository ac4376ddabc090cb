package boxes

import (
	"slices"

	"github.com/forkbox/forkbox"
)

// Where credentials lie is also said by variables: a HOME that is not the one of
// /etc/passwd, KUBECONFIG and their like. A box hides what the environments name
// that it was made and started with. What is on record only ever becomes more:
// a caller can have more hidden that way, and never less.

// MostPlaces bounds what is kept of that for one box.
const MostPlaces = 128

// hideNamed has a box that is about to start hide also what the environment of a
// command names.
func (m *Manager) hideNamed(box *forkbox.Box, env []string) error {
	if len(env) == 0 || !box.Base.IsReality() {
		return nil
	}
	named := allPlaces(box.Places, m.core.Places(env, box.Owner.Home, box.Dir, box.AllowSecrets))
	if len(named) > MostPlaces {
		return forkbox.Errorf(forkbox.Invalid, "start box", "commands in it had too many different places for credentials, and not all of them can be kept hidden").
			Hint("run it in a new box: forkbox run")
	}
	box.Places = named
	return nil
}

// allPlaces are those of both.
func allPlaces(a, b []string) []string {
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
