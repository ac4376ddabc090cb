package oci

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"runtime"
	"slices"

	"github.com/forkbox/forkbox"
)

// AddLayer writes a layer into the layout.
func (l *Layout) AddLayer(ctx context.Context, trees []Tree, o Options) (blob Blob, err error) {
	err = l.spool(func(w io.Writer) (Digest, error) {
		blob, err = WriteLayer(ctx, w, trees, o)
		return blob.Descriptor.Digest, err
	})
	return blob, forkbox.Wrap(opWrite, err)
}

// AddImage makes an image of layers that are in the layout, the bottom one
// first. An image of the same name is replaced.
func (l *Layout) AddImage(ctx context.Context, im Image, layers []Blob) (Descriptor, error) {
	d, err := l.addImage(ctx, im, layers)
	return d, forkbox.Wrap(opWrite, err)
}

func (l *Layout) addImage(ctx context.Context, im Image, layers []Blob) (none Descriptor, err error) {
	if im.OS == "" {
		im.OS = "linux"
	}
	if im.Arch == "" {
		im.Arch = runtime.GOARCH
	}
	config, err := configOf(im, layers)
	if err != nil {
		return none, err
	}
	m := Manifest{SchemaVersion: 2, MediaType: MediaTypeManifest, Layers: []Descriptor{}}
	if m.Config, err = l.putJSON(ctx, MediaTypeConfig, config); err != nil {
		return none, err
	}
	for _, b := range layers {
		m.Layers = append(m.Layers, b.Descriptor)
	}
	d, err := l.putJSON(ctx, MediaTypeManifest, m)
	if err != nil {
		return none, err
	}
	d.Platform = &Platform{OS: im.OS, Architecture: im.Arch}
	return d, l.List(d, im.Ref)
}

func (l *Layout) putJSON(ctx context.Context, mediaType string, v any) (Descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return Descriptor{}, err
	}
	return l.PutBlob(ctx, mediaType, data)
}

// List puts a manifest into the layout's index, in place of one of the same
// name.
func (l *Layout) List(d Descriptor, ref string) error {
	index := emptyIndex()
	if err := l.readJSON(indexFile, index); err != nil {
		return err
	}
	index.Manifests = slices.DeleteFunc(index.Manifests, func(m Descriptor) bool {
		return m.Annotations[refName] == ref && (ref != "" || m.Digest == d.Digest)
	})
	if ref != "" {
		d.Annotations = map[string]string{refName: ref}
	}
	index.Manifests = append(index.Manifests, d)
	return l.writeJSON(indexFile, index)
}

func configOf(im Image, layers []Blob) (*imageConfig, error) {
	labels, err := labelsOf(im)
	if err != nil {
		return nil, err
	}
	c := &imageConfig{
		Platform: Platform{OS: im.OS, Architecture: im.Arch},
		Config: runConfig{
			User: im.User, Env: im.Env, Entrypoint: im.Entrypoint, Cmd: im.Cmd,
			WorkingDir: im.WorkingDir, Labels: labels,
		},
		RootFS: rootFS{Type: "layers", DiffIDs: []Digest{}},
	}
	if !im.Created.IsZero() {
		created := im.Created.UTC()
		c.Created = &created
	}
	for _, b := range layers {
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, b.DiffID)
		c.History = append(c.History, history{Created: c.Created, CreatedBy: "forkbox"})
	}
	return c, nil
}

func labelsOf(im Image) (map[string]string, error) {
	labels := maps.Clone(im.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	if im.Base != "" {
		labels[LabelBase] = im.Base
	}
	if im.Surroundings != nil {
		if err := setLabel(labels, LabelSurroundings, im.Surroundings); err != nil {
			return nil, err
		}
	}
	if len(im.Before) > 0 {
		if err := setLabel(labels, LabelBefore, im.Before); err != nil {
			return nil, err
		}
	}
	if im.Snapshot != nil {
		if err := setLabel(labels, LabelSnapshot, im.Snapshot); err != nil {
			return nil, err
		}
	}
	return labels, nil
}

func setLabel(labels map[string]string, key string, v any) error {
	data, err := json.Marshal(v)
	labels[key] = string(data)
	return err
}
