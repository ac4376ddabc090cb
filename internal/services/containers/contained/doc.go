// Package contained runs the copy of a container in a box: it is what stands where
// an engine would. It is this same binary, started by the box's root: it puts the
// container's files together in a mount namespace of its own, has the machine's
// ports lead to the container's, and starts the container's command with the
// container's root directory, user and environment.
//
// There is less around it than an engine has: the network, the processes, the
// host's name and the capabilities are the box's. It is the box that keeps it in.
package contained
