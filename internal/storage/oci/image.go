package oci

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
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

// Differ says how this machine (have) differs from the one that changes were
// made on (want), sorted. Packages that are only here do not matter. touched,
// if not nil, says which packages do.
func Differ(want, have forkbox.Surroundings, touched func(pkg string) bool) []forkbox.Difference {
	var all []forkbox.Difference
	tell := func(kind, name, w, h string) {
		if w != "" && w != h {
			all = append(all, forkbox.Difference{Kind: kind, Name: name, Want: w, Have: h})
		}
	}
	tell("os", "os", want.OS, have.OS)
	tell("arch", "arch", want.Arch, have.Arch)
	if len(have.Packages) == 0 && len(want.Packages) > 0 {
		// Not thousands of lines that say the same.
		tell("package", "*", fmt.Sprintf("%d packages", len(want.Packages)), "not known")
		return sorted(all)
	}
	for name, version := range want.Packages {
		if touched == nil || touched(name) {
			tell("package", name, version, have.Packages[name])
		}
	}
	return sorted(all)
}

func sorted(all []forkbox.Difference) []forkbox.Difference {
	slices.SortFunc(all, func(a, b forkbox.Difference) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// maxLayers is far above what any tool makes.
const maxLayers = 1024

// Image reads what an image in the layout says of itself. Its layers are read,
// and compared with their digests, when they are unpacked.
func (l *Layout) Image(w Want) (*Image, error) {
	im, err := l.image(w)
	return im, forkbox.Wrap(opRead, err)
}

// Find is the manifest of an image in the layout.
func (l *Layout) Find(w Want) (Descriptor, *Manifest, error) {
	c, err := l.choose(w)
	if err != nil {
		return Descriptor{}, nil, forkbox.Wrap(opRead, err)
	}
	m, err := l.Manifest(c.manifest)
	return c.manifest, m, forkbox.Wrap(opRead, err)
}

func (l *Layout) image(w Want) (*Image, error) {
	c, err := l.choose(w)
	if err != nil {
		return nil, err
	}
	m, err := l.Manifest(c.manifest)
	if err != nil {
		return nil, err
	}
	var config imageConfig
	if err := l.readBlobJSON(m.Config, &config); err != nil {
		return nil, err
	}
	if len(config.RootFS.DiffIDs) != len(m.Layers) {
		return nil, forkbox.Errorf(forkbox.Invalid, opRead, "it has %d layers, and its configuration speaks of %d", len(m.Layers), len(config.RootFS.DiffIDs))
	}
	im, err := imageOf(config)
	if err != nil {
		return nil, err
	}
	im.Ref, im.Digest = c.ref, c.manifest.Digest
	for i, d := range m.Layers {
		if err := l.checkPresent(d); err != nil {
			return nil, err
		}
		im.Layers = append(im.Layers, Layer{
			Descriptor: d, DiffID: config.RootFS.DiffIDs[i],
			open: func() (io.ReadCloser, error) { return l.OpenBlob(d) },
		})
	}
	return im, nil
}

// checkPresent finds out early that a layer is missing or cut off.
func (l *Layout) checkPresent(d Descriptor) error {
	f, err := l.OpenBlob(d)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() != d.Size {
		err = forkbox.Errorf(forkbox.Invalid, opRead, "%s has %d bytes and should have %d", d.Digest, info.Size(), d.Size)
	}
	return err
}

// Manifest reads the manifest of one image.
func (l *Layout) Manifest(d Descriptor) (*Manifest, error) {
	data, err := l.ReadBlob(d)
	if err != nil {
		return nil, err
	}
	return ParseManifest(d.Digest.String(), data)
}

// ParseManifest refuses what cannot be the manifest of an image.
func ParseManifest(name string, data []byte) (*Manifest, error) {
	var m Manifest
	if err := parseJSON(name, data, &m); err != nil {
		return nil, err
	}
	if len(m.Layers) > maxLayers {
		return nil, forkbox.Errorf(forkbox.Invalid, opRead, "it has %d layers, and may have %d", len(m.Layers), maxLayers)
	}
	for _, d := range append([]Descriptor{m.Config}, m.Layers...) {
		if _, err := blobName(d.Digest); err != nil {
			return nil, err
		}
		if d.Size < 0 {
			return nil, forkbox.Errorf(forkbox.Invalid, opRead, "%s has a negative size", d.Digest)
		}
	}
	return &m, nil
}

// imageOf reads a configuration. A label of ours that is not what we write
// is refused: what follows from it could be anything.
func imageOf(c imageConfig) (*Image, error) {
	im := &Image{
		OS: c.OS, Arch: c.Architecture, Env: c.Config.Env, WorkingDir: c.Config.WorkingDir,
		Entrypoint: c.Config.Entrypoint, Cmd: c.Config.Cmd, User: c.Config.User,
		Labels: maps.Clone(c.Config.Labels), Base: c.Config.Labels[LabelBase],
	}
	if c.Created != nil {
		im.Created = *c.Created
	}
	if err := getLabel(im.Labels, LabelSurroundings, &im.Surroundings); err != nil {
		return nil, err
	}
	if err := getLabel(im.Labels, LabelSnapshot, &im.Snapshot); err != nil {
		return nil, err
	}
	if err := getLabel(im.Labels, LabelBefore, &im.Before); err != nil {
		return nil, err
	}
	delete(im.Labels, LabelBase)
	return im, nil
}

// getLabel takes a label of ours off the others.
func getLabel(labels map[string]string, key string, v any) error {
	text, ok := labels[key]
	if !ok {
		return nil
	}
	delete(labels, key)
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return forkbox.Errorf(forkbox.Invalid, opRead, "its label %s is damaged: %w", key, err)
	}
	return nil
}
