// Package execstream carries what an exec reads and writes between the init of
// its box and the daemon, for callers that cannot hand over descriptors.
//
// The init of the box has the [Source]: what the exec wrote and its reader has
// not acknowledged yet, and what the reader sent and the exec has not read. So
// whatever is lost in between, a connection or a whole daemon, another takes up
// where the last one was, and no byte is missing or there twice. All of it is
// bounded: an exec whose reader does not acknowledge stands still, as one does
// whose pipe is full.
//
// Source and daemon speak in [Frame]s over a pair of sockets, the link. Init
// runs among the processes of its box: the daemon believes none of its frames
// further than it must.
package execstream

// Channel is one of an exec's three streams.
type Channel byte

const (
	Stdin Channel = iota
	Stdout
	Stderr
)

// Windows: how much may be on its way and not acknowledged, for each channel.
const (
	OutputWindow = 256 << 10
	InputWindow  = 64 << 10
)
