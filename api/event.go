package api

import (
	"time"

	"github.com/forkbox/forkbox"
)

// EventStream is the media type of a caller who follows events: GET /v1/events
// with it is a stream of server-sent events, one for each [forkbox.Event]. Its id
// is the event's, its name the kind, its data the event as JSON.
//
// A caller that was cut off goes on with Last-Event-ID (or ?after=) where it was.
const EventStream = "text/event-stream"

const (
	// StreamFailed is the name of the last event of a stream that ends for the
	// daemon's reasons; its data is a [forkbox.Error].
	StreamFailed = "error"
	// Heartbeat is how often a stream in which nothing happens says so, unless
	// the daemon is configured otherwise.
	Heartbeat = 15 * time.Second
	// AfterLatest is the ?after= of a caller who wants what happens from now on.
	AfterLatest = "latest"
)

// EventLine is one line of the events as the API lists them: an event, or at
// the end what went wrong.
type EventLine struct {
	*forkbox.Event
	Error *forkbox.Error `json:"error,omitempty"`
}
