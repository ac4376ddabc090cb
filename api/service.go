package api

import (
	"time"

	"github.com/forkbox/forkbox"
)

// ServiceList is what listens on the daemon's machine.
type ServiceList struct {
	Services []forkbox.Service `json:"services"`
	Notes    []string          `json:"notes,omitempty"` // what could not be found out, and why
}

// RefreshRequest says which services' data is to be taken anew, and for how long
// each may stand still for that.
type RefreshRequest struct {
	Services []string       `json:"services"`
	Pause    *time.Duration `json:"pause_ns,omitempty"`
	// Settings are for some of them, by name, and Env is what those are started with
	// that a line of the settings starts.
	Settings map[string]forkbox.ServiceSettings `json:"settings,omitempty"`
	Env      forkbox.Strings                    `json:"env,omitempty"`
}

// StillList is data of services as it was at one moment.
type StillList struct {
	Stills []forkbox.Still `json:"stills"`
}

// ServiceRequest says what to do to a service of a box.
type ServiceRequest struct {
	Do string `json:"do"` // start, stop or restart
}
