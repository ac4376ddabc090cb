// Package cgroup makes the kernel hold the limits of boxes and execs, counts
// what they use, and stops, kills and finds their processes.
//
// # Layout
//
// All groups of a daemon are below one that has the daemon's name. A box with
// the id B has
//
//	NAME/B       the box's limits
//	NAME/B/init  its first process (version 2; it is in NAME/B in version 1)
//	NAME/B/x     all that was started in it: frozen and killed as one
//	NAME/B/x/N   the exec N, with limits of its own
//
// The first process is beside x and not in it, so that it can answer while the
// box is paused. Version 2 wants it in a group of its own, as a group with
// limits for its children may hold no process. The first process has no
// protection from the kernel's OOM killer and needs none: that kills the
// largest process of the group whose limit was met, and the first process is
// always smaller than who filled a limit of megabytes.
//
// # Versions
//
// Version 2 has one hierarchy; version 1 has one per controller, or several
// controllers in one, and each may be missing or refused. Where each is
// mounted is read from the kernel. An exec has groups of its own only in the
// hierarchies that count per exec (memory, pids, freezer), and in the others
// when it has a limit there: making a group costs tens of microseconds.
//
// # What a box must not get
//
// A process that can write to a group's directory can lift its limits. Root in
// a box is root to the files of this filesystem as well, so a box must never
// see it mounted writable.
package cgroup
