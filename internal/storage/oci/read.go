package oci

import (
	"encoding/json"
	"io"
	"maps"

	"github.com/forkbox/forkbox"
)

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
		if err := l.present(d); err != nil {
			return nil, err
		}
		im.Layers = append(im.Layers, Layer{
			Descriptor: d, DiffID: config.RootFS.DiffIDs[i],
			open: func() (io.ReadCloser, error) { return l.OpenBlob(d) },
		})
	}
	return im, nil
}

// present finds out early that a layer is missing or cut off.
func (l *Layout) present(d Descriptor) error {
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
