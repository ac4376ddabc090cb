// Package freezer stops the processes of a box for a moment and lets them go
// on, so that its files can be copied as they are at one point in time.
//
// It is for boxes without a cgroup, which would do that without the processes
// noticing: an ordinary user's, on a host that gives users none. SIGSTOP has to
// do there, which a shell with job control can see.
//
// The first process of a box is not frozen: it writes to nothing that is in
// the box, and it answers the daemon.
//
// Services of the host are stopped the same way ([Family]), and with their first
// process.
package freezer
