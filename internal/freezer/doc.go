// Package freezer stops the processes of a box for a moment and lets them go
// on, so that its files can be copied as they are at one point in time.
//
// A cgroup does that without the processes noticing. Where none can be made
// (an ordinary user without a cgroup of their own) SIGSTOP has to do, which a
// shell with job control can see.
//
// The first process of a box is not frozen: it writes to nothing that is in
// the box, and it answers the daemon.
package freezer
