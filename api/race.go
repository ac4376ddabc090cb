package api

import "github.com/forkbox/forkbox"

// RaceList is races, as they are listed: without their commands, and without
// what each of their checks and metrics came to.
type RaceList struct {
	Races []forkbox.Race `json:"races"`
	Next  string         `json:"next,omitempty"` // the cursor of the rest
}

// NewestRace is what the API calls the newest race of the caller's. No race can
// have that name.
const NewestRace = "@newest"

// RaceLine is one line of a race's events as the API sends them: an event, or
// at the end what went wrong.
type RaceLine struct {
	*forkbox.RaceEvent
	Error *forkbox.Error `json:"error,omitempty"`
}

// RaceLogLine is one line of a transcript as the API sends it.
type RaceLogLine struct {
	*forkbox.RaceLog
	Error *forkbox.Error `json:"error,omitempty"`
}
