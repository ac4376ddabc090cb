package oci

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/forkbox/forkbox"
)

// Differ says how this machine (have) differs from the one that changes were
// made on (want), sorted. Packages that are only here do not matter. touched,
// if not nil, says which packages do.
func Differ(want, have forkbox.Surroundings, touched func(pkg string) bool) []forkbox.Difference {
	var all []forkbox.Difference
	tell := func(kind, name, w, h string) {
		if w != "" && w != h {
			all = append(all, forkbox.Difference{Kind: kind, Name: name, Want: w, Have: h})
		}
	}
	tell("os", "os", want.OS, have.OS)
	tell("arch", "arch", want.Arch, have.Arch)
	if len(have.Packages) == 0 && len(want.Packages) > 0 {
		// Not thousands of lines that say the same.
		tell("package", "*", fmt.Sprintf("%d packages", len(want.Packages)), "not known")
		return sorted(all)
	}
	for name, version := range want.Packages {
		if touched == nil || touched(name) {
			tell("package", name, version, have.Packages[name])
		}
	}
	return sorted(all)
}

func sorted(all []forkbox.Difference) []forkbox.Difference {
	slices.SortFunc(all, func(a, b forkbox.Difference) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all
}
