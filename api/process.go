package api

import "github.com/forkbox/forkbox"

// ProcessList is a list of processes.
type ProcessList struct {
	Processes []forkbox.Process `json:"processes"`
}
