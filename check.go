package forkbox

// Status is the verdict of a [Check].
type Status string

const (
	OK   Status = "ok"
	Warn Status = "warn" // works, with something the user should know
	Fail Status = "fail" // does not work here; Remedy says what would help
	Info Status = "info" // a fact
)

// Check is one thing doctor tried, and how it went.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// Deviation is something that is not in a box as it is on this host.
type Deviation struct {
	What string `json:"what"`
	Why  string `json:"why"` // the reason, as a rule the kernel's
	See  string `json:"see"` // the page that says more
}
