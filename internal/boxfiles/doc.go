// Package boxfiles is how the daemon reaches the files of a box: it asks a process
// in the box, the agent, which has the box's view of the files and the rights of the
// box's owner. Paths are resolved in there and nowhere else, so that whatever symlinks
// and renames the box comes up with, they lead to what a command in the box would find.
//
// The daemon believes nothing that an agent says: processes of the box can kill it,
// and root in there can speak for it. All that it gets to say is bytes, which are bounded, shown
// as the box's own, and never a path or a file of the host's.
//
//	frame.go     frames on a connection; fuzzed
//	message.go   what is in them
//	call.go      the daemon's end: one request on one connection
//	read.go, write.go, list.go, watch.go   its verbs
//	agent/       the end in the box
package boxfiles
