package forkbox

import "io/fs"

// ImportSpec says what to make of something from another machine.
type ImportSpec struct {
	Name string `json:"name,omitempty"` // of the box; generated if empty
	// Dir is where its commands start; if empty, where the image says.
	Dir string `json:"dir,omitempty"`
	Net Net    `json:"net,omitempty"`
}

// Import is what came of it.
type Import struct {
	Box Box `json:"box"`
	// Differences are how this machine differs from the one that the changes
	// were made on. They are told, not refused.
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is one thing that is not here as it was there.
type Difference struct {
	Kind string `json:"kind"` // "os", "arch", "package", "path"
	Name string `json:"name"`
	Want string `json:"want"`           // there
	Have string `json:"have,omitempty"` // here; nothing if it is missing
}

// Surroundings are what changes were made on: what another machine has to be
// like for them to mean the same there.
type Surroundings struct {
	OS       string            `json:"os"`   // as os-release names it: "debian 12"
	Arch     string            `json:"arch"` // as Go names it
	Packages map[string]string `json:"packages,omitempty"`
}

// BaseSum is what reality had at a path before a box changed it: enough to tell
// whether another machine has the same there.
type BaseSum struct {
	Path string      `json:"path"` // absolute
	Mode fs.FileMode `json:"mode"` // with type bits
	Size int64       `json:"size,omitempty"`
	// Sum is the SHA-256 of a file's bytes, or of a symlink's target.
	Sum []byte `json:"sum,omitempty"`
}

// Arrival is what came out of an archive of an image: a base, and layers over
// it, the topmost first.
type Arrival struct {
	Name        string // as the image calls itself
	Base        Base
	Layers      []string
	Differences []Difference
}
