package contained

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Name is the first argument of this binary when it is to run a container's copy.
const Name = "forkbox-container"

// Program is where a box has this binary, whatever else is in it: the box's init
// is it.
const Program = "/proc/1/exe"

// Spec is how a copy is put together. It lies beside the copy.
type Spec struct {
	User     string    `json:"user,omitempty"` // as the container has it: name or number, and perhaps a group
	Dir      string    `json:"dir,omitempty"`
	Hostname string    `json:"hostname,omitempty"`
	Mounts   []Mount   `json:"mounts,omitempty"`
	Forward  []Forward `json:"forward,omitempty"`
}

// Mount is what is seen at a path of the container.
type Mount struct {
	Source   string `json:"source,omitempty"` // in the box; empty: nothing, in memory
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

// Forward is a port of the box that leads to one of the container.
type Forward struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Root is the root directory of the copy at a base.
func Root(base string) string { return filepath.Join(base, "root") }

// Volume is where a volume of the copy lies.
func Volume(base, number string) string { return filepath.Join(base, "volumes", number) }

func specFile(base string) string { return filepath.Join(base, "container.json") }

// Write puts the spec beside a copy.
func (s Spec) Write(base string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(specFile(base), append(text, '\n'), 0o600)
}

func read(base string) (s Spec, err error) {
	text, err := os.ReadFile(specFile(base))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}
