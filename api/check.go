package api

import "github.com/forkbox/forkbox"

// CheckList is what doctor found.
type CheckList struct {
	Checks []forkbox.Check `json:"checks"`
	// Strays are what applies left in reality that no receipt accounts for.
	Strays []forkbox.Stray `json:"strays"`
	// Differs is what is not in a box as it is on this host.
	Differs []forkbox.Deviation `json:"differs"`
}

// StrayRequest says what is to become of a stray.
type StrayRequest struct {
	Dir  string            `json:"dir"`
	Fate forkbox.StrayFate `json:"fate"`
}
