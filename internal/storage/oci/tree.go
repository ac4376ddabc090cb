package oci

import (
	"path"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// orderTrees sorts by mount, so that a directory comes before what is mounted
// in it.
func orderTrees(trees []Tree) ([]Tree, error) {
	ordered := slices.Clone(trees)
	slices.SortFunc(ordered, func(a, b Tree) int { return strings.Compare(a.Mount, b.Mount) })
	for i, t := range ordered {
		if !path.IsAbs(t.Mount) || path.Clean(t.Mount) != t.Mount {
			return nil, forkbox.Errorf(forkbox.Invalid, opWrite, "%q is not where a filesystem can be mounted", t.Mount)
		}
		if i > 0 && ordered[i-1].Mount == t.Mount {
			return nil, forkbox.Errorf(forkbox.Invalid, opWrite, "the layer has two trees for %q", t.Mount)
		}
	}
	return ordered, nil
}

// inside is a mount as names in an archive begin: "/home" is "home", "/" is "".
func inside(mount string) string { return strings.TrimPrefix(mount, "/") }

// below puts a name into a directory of an archive.
func below(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
