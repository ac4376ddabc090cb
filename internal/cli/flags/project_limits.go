package flags

import (
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
