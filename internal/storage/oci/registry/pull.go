package registry

import (
	"context"
	"encoding/json"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/oci"
)

// Pull downloads an image into a layout, which is made if it is not there. The
// image is in its index once everything of it has come.
func Pull(ctx context.Context, ref, dir string, o Options) (oci.Descriptor, error) {
	var none oci.Descriptor
	s, err := newSession(opPull, ref, o)
	if err != nil {
		return none, err
	}
	defer s.close()
	d, data, err := s.manifest(ctx)
	if err != nil {
		return none, err
	}
	m, err := oci.ParseManifest(d.Digest.String(), data)
	if err != nil {
		return none, err
	}
	blobs := unique(append(m.Layers, m.Config)...)
	if err := s.checkBounds(blobs); err != nil {
		return none, err
	}
	l, err := oci.CreateLayout(dir)
	if err != nil {
		return none, err
	}
	for _, b := range blobs {
		if err := s.pullBlob(ctx, l, b); err != nil {
			return none, err
		}
	}
	stored, err := l.PutBlob(ctx, d.MediaType, data)
	if err != nil {
		return none, forkbox.Wrap(s.op, err)
	}
	d.Digest = stored.Digest // of the kind that layouts here are written with
	s.tell(d, d.Size, false)
	return d, forkbox.Wrap(s.op, l.List(d, s.ref.String()))
}

func (s *session) checkBounds(blobs []oci.Descriptor) error {
	limit := s.o.Limit
	if limit <= 0 {
		limit = oci.DefaultLimits.Bytes
	}
	total := int64(0)
	for _, d := range blobs {
		if d.Size > limit-total {
			return forkbox.Errorf(forkbox.Invalid, s.op, "%s has more than %d bytes", s.ref, limit)
		}
		total += d.Size
	}
	return nil
}

// manifest reads the manifest that the reference means: of a list, the one for
// this kind of machine.
func (s *session) manifest(ctx context.Context) (d oci.Descriptor, data []byte, err error) {
	err = s.retry(ctx, func(ctx context.Context) (err error) {
		d, data, err = s.api.getManifest(ctx, s.ref.Tag)
		return err
	})
	if err != nil || oci.IsManifest(d.MediaType) {
		return d, data, err
	}
	if !oci.IsIndex(d.MediaType) {
		return d, nil, forkbox.Errorf(forkbox.Unsupported, s.op, "%s is a %.100q, which is no image that we know", s.ref, d.MediaType)
	}
	var index oci.Index
	if err := json.Unmarshal(data, &index); err != nil {
		return d, nil, forkbox.Errorf(forkbox.Invalid, s.op, "the list of images at %s is damaged: %w", s.ref, err)
	}
	if d, err = oci.Choose(index.Manifests, s.o.Want); err != nil {
		return d, nil, err
	}
	err = s.retry(ctx, func(ctx context.Context) (err error) {
		data, err = s.fetch(ctx, d)
		return err
	})
	return d, data, err
}

// fetch reads a manifest from a list, which says how large it is.
func (s *session) fetch(ctx context.Context, d oci.Descriptor) ([]byte, error) {
	if err := d.Digest.Validate(); err != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, s.op, "the list of images at %s has a damaged entry: %.100q: %w", s.ref, d.Digest, err)
	}
	got, data, err := s.api.getManifest(ctx, d.Digest.String())
	if err == nil && got.Size != d.Size {
		err = forkbox.Errorf(forkbox.Invalid, s.op, "the manifest %s has %d bytes and should have %d", d.Digest, got.Size, d.Size)
	}
	return data, err
}
