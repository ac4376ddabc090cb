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
