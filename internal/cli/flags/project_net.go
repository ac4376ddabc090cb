package flags

import (
	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/policy"
)

// withProjectNet adds what the project's forkbox.yaml says of the network, if
// the caller stands in one. Whether a box has a network at all is the project's
// to say only where nobody else does: neither a flag, nor the box that it is
// made of.
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
