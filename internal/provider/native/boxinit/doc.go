// Package boxinit is the first process of a box, and what the daemon says to it.
//
// It is this same binary under another name: it reaps, starts execs with the
// files that came for them, relays and keeps their output, and outlives the
// daemon, so that the next one can attach to it. It runs among the box's
// processes and is trusted with nothing of the host's.
//
//	protocol.go  what the daemon and init say to each other
//	init.go      its life, and its answers
//	exec.go      a command from start to exit; spawn.go, stdio.go, traits.go, users.go are parts of the start
//	relay.go     output, to the caller and into the log
//	files.go     the agent that reads and writes files for the daemon
//	network.go   the device that leads to the gate, and connections into the box
package boxinit
