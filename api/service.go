package api

import "github.com/forkbox/forkbox"

// ServiceList is what listens on the daemon's machine.
type ServiceList struct {
	Services []forkbox.Service `json:"services"`
}
