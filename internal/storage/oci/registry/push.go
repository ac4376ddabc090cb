package registry

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/oci"
)

// Push uploads an image of a layout. Its blobs come first and its name last: no
// client can pull half of it.
func Push(ctx context.Context, dir, ref string, o Options) (oci.Descriptor, error) {
	var none oci.Descriptor
	s, err := newSession(opPush, ref, o)
	if err != nil {
		return none, err
	}
	defer s.close()
	if s.ref.digest {
		return none, invalid(ref, "an image is pushed to a tag, not to a digest")
	}
	l, err := oci.OpenLayout(dir)
	if err != nil {
		return none, err
	}
	manifest, m, err := l.Find(o.Want)
	if err != nil {
		return none, err
	}
	for _, d := range unique(append(m.Layers, m.Config)...) {
		if err := s.pushBlob(ctx, l, d); err != nil {
			return none, err
		}
	}
	return manifest, s.pushManifest(ctx, l, manifest)
}

func (s *session) pushBlob(ctx context.Context, l *oci.Layout, d oci.Descriptor) error {
	return s.retry(ctx, func(ctx context.Context) error {
		there, err := s.api.hasBlob(ctx, d)
		if err != nil {
			return err
		}
		if there {
			s.tell(d, d.Size, true)
			return nil
		}
		return s.upload(ctx, l, d)
	})
}

func (s *session) upload(ctx context.Context, l *oci.Layout, d oci.Descriptor) error {
	f, err := l.OpenBlob(d)
	if err != nil {
		return forkbox.Wrap(s.op, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != d.Size {
		return forkbox.Errorf(forkbox.Invalid, s.op, "the layout's %s is not as large as it should be", d.Digest)
	}
	w := newWatch(ctx)
	defer w.close()
	s.tell(d, 0, false)
	body := &moving{r: f, w: w, tell: func(done int64) { s.tell(d, done, false) }}
	return w.why(s.api.putBlob(w, d, body))
}

func (s *session) pushManifest(ctx context.Context, l *oci.Layout, d oci.Descriptor) error {
	data, err := l.ReadBlob(d)
	if err != nil {
		return err
	}
	return s.retry(ctx, func(ctx context.Context) error {
		if s.api.findTag(ctx, s.ref.Tag) == d.Digest {
			s.tell(d, d.Size, true)
			return nil
		}
		if err := s.api.putManifest(ctx, d, data, s.ref.Tag); err != nil {
			return err
		}
		s.tell(d, d.Size, false)
		return nil
	})
}
