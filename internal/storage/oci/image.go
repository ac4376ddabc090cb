package oci

import (
	"time"

	"github.com/forkbox/forkbox"
)

// Labels that forkbox writes into an image's configuration.
const (
	LabelBase         = "io.forkbox.base"         // the kind of base: "reality", "oci", …
	LabelSurroundings = "io.forkbox.surroundings" // JSON of [forkbox.Surroundings]
	LabelSnapshot     = "io.forkbox.snapshot"     // JSON of [Note]
	LabelBefore       = "io.forkbox.before"       // JSON of a list of [forkbox.BaseSum]
)

// Image is what an image says of itself.
type Image struct {
	Ref        string // its name in a layout; may be empty
	OS, Arch   string // as Go names them; this machine's if empty when written
	Created    time.Time
	Env        []string
	WorkingDir string
	Entrypoint []string
	Cmd        []string
	User       string
	// Labels are those that are not forkbox's own.
	Labels map[string]string

	// Base is the kind of base that the box had. One of reality means that the
	// layers hold only the changes; otherwise, and where forkbox did not make
	// the image, they are complete.
	Base         string
	Surroundings *forkbox.Surroundings // what the changes were made on
	Snapshot     *Note
	// Before is what the changes were made to, as far as it is known.
	Before []forkbox.BaseSum

	// Layers are set when the image was read, the bottom one first.
	Layers []Layer
	Digest Digest // of the manifest, when it was read
}

// Note is what people know a snapshot by.
type Note struct {
	Name    string    `json:"name"`
	Message string    `json:"message,omitempty"`
	Created time.Time `json:"created"`
}

// OnReality says that the image holds only changes, to be laid over a machine.
func (im *Image) OnReality() bool { return im.Base == forkbox.Reality }
