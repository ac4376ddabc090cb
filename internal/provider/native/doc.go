// Package native is the provider for Linux: namespaces, overlayfs, seccomp.
//
// Two kinds of daemon run it. As root, one overlay covers the whole of /, the
// box's user namespace maps every user to itself, and the mounts are made
// before that namespace is entered, so that root in the box cannot undo them.
// As an unprivileged user everything happens inside a user namespace that maps
// only that user; the kernel refuses / itself as a lower directory there, so
// every top-level directory gets an overlay of its own.
//
//	veil.go      what a box is not shown: secrets, sockets, the store
//	build.go     the script that makes a box, top to bottom
//	provider.go  the provider: what it is asked, and who in here does it
//	conceal.go   scenery: what of the host a box is shown
//	changes.go   stacks: which directories a box's files lie in
//	image.go     images: files that come from elsewhere, or go there
//	govern.go    governor: cgroups and quotas; group.go has a box's own
//	launch.go    builder: plans a box, takes a spare over or builds it
//	instance.go  the daemon's end of a running box
//	boxinit/     the box's end: pid 1
//	hostmounts/  what is mounted on the host, and what of it a box gets
//	doctor.go    what this host can do, tried
package native
