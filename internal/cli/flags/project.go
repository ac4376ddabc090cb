package flags

import (
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/policy"
)

// WithProject adds the limits of the project's forkbox.yaml, if the caller
// stands in one. It is read here, with the caller's rights; one that cannot be
// read is an error, not a project without limits.
func WithProject(wish forkbox.Wish) (forkbox.Wish, error) {
	dir := place.Here().Dir
	if dir == "" {
		return wish, nil
	}
	file, ok := policy.FindProject(dir)
	if !ok {
		return wish, nil
	}
	limits, err := policy.LoadProject(file)
	if err != nil {
		return wish, err
	}
	wish.Project, wish.ProjectFile = limits, file
	return wish, nil
}

// withProjectNet adds what the project's forkbox.yaml says of the network, if
// the caller stands in one. Whether a box has a network at all is the project's
// to say only where neither a flag does nor the box that it is made of.
func withProjectNet(net string, wish forkbox.NetWish, inherits bool) (string, forkbox.NetWish, error) {
	dir := place.Here().Dir
	if dir == "" {
		return net, wish, nil
	}
	file, ok := policy.FindProject(dir)
	if !ok {
		return net, wish, nil
	}
	mode, project, err := policy.LoadProjectNet(file)
	if err != nil || project == nil {
		return net, wish, err
	}
	if net == "" && !inherits {
		net = string(mode)
	}
	wish.Project, wish.ProjectFile = project, file
	return net, wish, nil
}

// WithServices is which services a box is to have copies of, and what the project's
// forkbox.yaml says of them. What it asks for by itself counts where no flag says
// otherwise, for boxes that are forked of this machine.
func WithServices(said []string, ofMachine bool) (with []string, settings map[string]forkbox.ServiceSettings, err error) {
	if slices.Contains(said, forkbox.ServicesNone) {
		if len(said) > 1 {
			return nil, nil, forkbox.Errorf(forkbox.Invalid, "understand --with", "it says %s, and names services as well", forkbox.ServicesNone)
		}
		return nil, nil, nil
	}
	project, err := ProjectServices()
	if err != nil {
		return nil, nil, err
	}
	if with = said; len(said) == 0 && ofMachine {
		with = project.With
	}
	if len(with) == 0 || len(with) == 1 && with[0] == forkbox.ServicesNone {
		return nil, nil, nil // what is said of services is of no use
	}
	return with, project.Settings, nil
}

// ProjectServices is what the project's forkbox.yaml says of services, if the
// caller stands in one.
func ProjectServices() (none policy.ProjectServices, err error) {
	dir := place.Here().Dir
	if dir == "" {
		return none, nil
	}
	file, ok := policy.FindProject(dir)
	if !ok {
		return none, nil
	}
	return policy.LoadProjectServices(file)
}
