package forkbox

// Service is a program of reality that waits for connections: what a box would
// need a copy of to be like the machine.
type Service struct {
	// Name is the recipe's, or else the program's; with a port where there are
	// several.
	Name   string `json:"name"`
	Recipe string `json:"recipe"` // generic where none is made for the program
	// Ports are those of TCP; Sockets are unix sockets with a path.
	Ports     []int    `json:"ports"`
	Sockets   []string `json:"sockets,omitempty"`
	PID       int      `json:"pid"`       // of the process that the others come from
	Processes int      `json:"processes"` // how many there are
	UID       int      `json:"uid"`
	User      string   `json:"user"` // the name, where the host knows one
	Command   Strings  `json:"command"`
	Dir       string   `json:"dir,omitempty"`  // the working directory
	Unit      string   `json:"unit,omitempty"` // systemd's, where it has one
	// Data is what the service keeps on disk, and would have to be copied.
	Data []ServiceData `json:"data"`
	Note string        `json:"note,omitempty"` // what could not be told, and why
}

// ServiceData is a file or a directory of a service.
type ServiceData struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"` // on disk
	Files int    `json:"files"`
	// Counting says that there was more than could be counted in time.
	Counting bool `json:"counting,omitempty"`
}
