package forkbox

import "time"

// Keyed is a request that came with a key of its caller's, so that it can be
// repeated without being done twice. The key itself is in none of it.
type Keyed struct {
	ID      string // of the caller and the key
	UID     int
	Began   time.Time
	Request string // the request's id, which events name
	After   int64  // the latest event before it
	// Print is of what was asked; nil where it was not read to its end yet.
	Print []byte
	// Status is what it was answered with; 0 as long as that is not known. Answer
	// is sealed.
	Status int
	Answer []byte
}
