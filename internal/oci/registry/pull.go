package registry

import (
	"context"
	"encoding/json"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/oci"
)

// maxManifest is what registries take at most.
const maxManifest = 4 << 20

// Pull downloads an image into a layout, which is made if it is not there. The
// image is in its index once everything of it has come.
func Pull(ctx context.Context, ref, dir string, o Options) (ocispec.Descriptor, error) {
	var none ocispec.Descriptor
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
	if err := s.bounded(blobs); err != nil {
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
	if _, err := l.PutBlob(ctx, d.MediaType, data); err != nil {
		return none, forkbox.Wrap(s.op, err)
	}
	s.tell(d, d.Size, false)
	return d, forkbox.Wrap(s.op, l.List(d, s.ref.String()))
}

func (s *session) bounded(blobs []ocispec.Descriptor) error {
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
func (s *session) manifest(ctx context.Context) (d ocispec.Descriptor, data []byte, err error) {
	err = s.retried(ctx, func(ctx context.Context) (err error) {
		d, data, err = s.fetchNamed(ctx)
		return err
	})
	if err != nil || oci.IsManifest(d.MediaType) {
		return d, data, err
	}
	if !oci.IsIndex(d.MediaType) {
		return d, nil, forkbox.Errorf(forkbox.Unsupported, s.op, "%s is a %.100q, which is no image that we know", s.ref, d.MediaType)
	}
	var index ocispec.Index
	if err := json.Unmarshal(data, &index); err != nil {
		return d, nil, forkbox.Errorf(forkbox.Invalid, s.op, "the list of images at %s is damaged: %w", s.ref, err)
	}
	if d, err = oci.Choose(index.Manifests, s.o.Want); err != nil {
		return d, nil, err
	}
	err = s.retried(ctx, func(ctx context.Context) (err error) {
		data, err = s.fetch(ctx, d)
		return err
	})
	return d, data, err
}

func (s *session) fetchNamed(ctx context.Context) (ocispec.Descriptor, []byte, error) {
	d, rc, err := s.repo.Manifests().FetchReference(ctx, s.ref.Tag)
	if err != nil {
		return d, nil, err
	}
	data, err := s.readManifest(d, rc)
	return ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}, data, err
}

func (s *session) fetch(ctx context.Context, d ocispec.Descriptor) ([]byte, error) {
	rc, err := s.repo.Manifests().Fetch(ctx, d)
	if err != nil {
		return nil, err
	}
	return s.readManifest(d, rc)
}

func (s *session) readManifest(d ocispec.Descriptor, rc io.ReadCloser) ([]byte, error) {
	defer rc.Close()
	if d.Size > maxManifest {
		return nil, forkbox.Errorf(forkbox.Invalid, s.op, "the manifest of %s has %d bytes, and may have %d", s.ref, d.Size, maxManifest)
	}
	return content.ReadAll(rc, d)
}
