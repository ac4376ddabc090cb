// Package linux is where forkbox makes raw system calls: forking a child that
// builds a box, the mount API, pidfds, seccomp, credentials of a socket.
// Everything here is thin; what a box consists of is decided by its callers.
package linux
