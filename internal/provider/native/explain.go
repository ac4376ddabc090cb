//go:build linux

package native

import "bytes"

// explanation is of an error that programs meet in a box and not outside.
type explanation struct {
	words []string // any of them, in lower case
	note  string
	here  func(p *Provider) bool
}

// explanations are of errors whose own words do not tell the reason. The words
// are those of the C library and of the languages that have their own, in English
// or as a number: in other languages nothing is explained.
var explanations = []explanation{
	{[]string{"value too large for defined data type", "errno 75]", "os error 75)", "eoverflow"},
		"without root, what another user owns, or whose group is not your primary one, cannot be changed in a box (EOVERFLOW, \"Value too large for defined data type\"): " +
			"work on a copy of it, make it yours outside (chown, chgrp), or run forkbox as root; " + securityPage + " says why",
		isRootless},
	{[]string{"connect to the docker daemon at unix:", "docker daemon socket at unix:", "docker api at unix:", "unable to connect to podman socket"},
		"a box does not reach the container engine of the host, as whoever speaks to it is root there: run docker outside, on what you applied; " + securityPage + " says more",
		always},
	{[]string{"fuse: device not found", "fuse: failed to open /dev/fuse", "/dev/fuse: no such file", "cannot open /dev/fuse"},
		"a box has no /dev/fuse: use overlayfs in a user namespace of its own where that will do (unshare -Um), or run the command outside; " + securityPage + " says why",
		always},
	{[]string{"creating new namespace failed: nesting depth or /proc/sys/user/max_", "unshare failed: no space left on device"},
		"a box on this host has no cgroup namespaces (ENOSPC): in place of bwrap --unshare-all name the others, which work: " +
			"bwrap --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-net; " + securityPage + " says why",
		lacksNamespaces},
	{[]string{"can't mount proc on ", "mount /proc failed: operation not permitted"},
		"in a box of a root daemon nothing mounts a /proc of its own (EPERM), as parts of the box's are covered: leave out --proc (bwrap) or --mount-proc (unshare), " +
			"the box's own is seen then: bwrap --unshare-user --unshare-pid --ro-bind / / --dev /dev; " + securityPage + " says why",
		isRoot},
}

// Explain finds in the output of a command that failed what a box is the reason
// of.
func (p *Provider) Explain(output []byte) (note string) {
	output = bytes.ToLower(output)
	for _, e := range explanations {
		for _, words := range e.words {
			if e.here(p) && bytes.Contains(output, []byte(words)) {
				return e.note
			}
		}
	}
	return ""
}
