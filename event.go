package forkbox

import "time"

// EventKind says what happened.
type EventKind string

const (
	EventTTLSoon   EventKind = "ttl-soon"   // the box ends soon
	EventTTL       EventKind = "ttl"        // its time was up
	EventIdle      EventKind = "idle"       // it was stopped for being idle
	EventOOM       EventKind = "oom"        // processes were killed for its memory limit
	EventPids      EventKind = "pids-limit" // it met its limit of processes
	EventDisk      EventKind = "disk-limit" // it met its limit of disk
	EventReserve   EventKind = "reserve"    // the host's reserve was reached
	EventPaused    EventKind = "paused"
	EventResumed   EventKind = "resumed"
	EventLimits    EventKind = "limits"   // its limits were changed
	EventExtended  EventKind = "extended" // its time was extended
	EventTimedOut  EventKind = "timed-out"
	EventNetwork   EventKind = "network" // what it may reach, or who reaches it, was changed
	EventTimeJumps EventKind = "clock"   // the host's clock was set
)

// Event is something that happened to a box without, or beside, an answer to
// who asked for it. IDs count up, over all boxes.
type Event struct {
	ID   int64     `json:"id"`
	Box  string    `json:"box"`
	Name string    `json:"name"` // the box's
	Exec string    `json:"exec,omitempty"`
	Kind EventKind `json:"kind"`
	Time time.Time `json:"time"`
	Text string    `json:"text"`
	UID  int       `json:"uid"` // of the box's owner
}

// Waiting is a request's place in the queue for the host.
type Waiting struct {
	Ticket   string    `json:"ticket,omitempty"`
	Place    int       `json:"place"` // from 1
	What     string    `json:"what"`  // "start box try"
	Why      string    `json:"why"`   // what there is too little of, with the figure
	Priority Priority  `json:"priority"`
	Since    time.Time `json:"since"`
	Deadline time.Time `json:"deadline"`
}
