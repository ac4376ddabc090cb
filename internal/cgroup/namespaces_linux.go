package cgroup

import (
	"slices"
	"strings"
)

// Namespaces says whether a box may have cgroup namespaces of its own making.
// With one, root in it may mount the group that it is in, of every hierarchy,
// and may be the owner of what is there: it must find nothing to write to.
//
// In version 2 that is so. Every process of a box is in a group of the box, below
// which none can be made (seal), and what else is in it the kernel keeps for who
// is above where it was mounted with nsdelegate. In version 1 a box is in the
// daemon's own group for each hierarchy that forkbox does not use, and the kernel
// keeps nothing.
func (h *Host) Namespaces() bool {
	own, err := read("/proc/self/cgroup")
	return err == nil && h.kernel.version() == 2 && h.files[maxBelow] &&
		slices.Contains(h.trees[0].mount.super, "nsdelegate") && onlyV2(own)
}

// onlyV2 says by the groups of a process, one a line, whether there is no
// hierarchy of version 1 beside that of version 2: some programs mount one for
// themselves.
func onlyV2(own string) bool {
	return strings.HasPrefix(own, "0::") && strings.Count(own, "\n") == 1
}
