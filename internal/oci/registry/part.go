package registry

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/oci"
)

// part is a blob that has come in part.
type part struct {
	*os.File
	d    ocispec.Descriptor
	path string // where it is to lie when it is whole
	sum  digest.Digester
	have int64
}

func (s *session) pullBlob(ctx context.Context, l *oci.Layout, d ocispec.Descriptor) error {
	if l.CheckBlob(ctx, d) == nil {
		s.tell(d, d.Size, true)
		return nil
	}
	return s.retried(ctx, func(ctx context.Context) error {
		p, err := openPart(l, d)
		if err != nil {
			return forkbox.Wrap(s.op, err)
		}
		defer p.Close()
		resumed := p.have > 0
		err = s.download(ctx, p)
		if errors.Is(err, errWrong) && resumed {
			// What had come before may be what is wrong: once from the start.
			if err = p.startOver(); err == nil {
				err = s.download(ctx, p)
			}
		}
		if errors.Is(err, errWrong) {
			err = errors.Join(forkbox.Errorf(forkbox.Invalid, s.op, "%s sent something else than %s", s.ref.Registry, d.Digest), os.Remove(p.Name()))
		}
		return err
	})
}

// openPart opens what has come of a blob, and sums it up.
func openPart(l *oci.Layout, d ocispec.Descriptor) (*part, error) {
	path, err := l.BlobPath(d.Digest)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path+".part", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	p := &part{File: f, d: d, path: path, sum: d.Digest.Algorithm().Digester()}
	if p.have, err = io.Copy(p.sum.Hash(), f); err == nil && p.have > d.Size {
		err = p.startOver()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

func (p *part) startOver() error {
	p.have, p.sum = 0, p.d.Digest.Algorithm().Digester()
	if err := p.Truncate(0); err != nil {
		return err
	}
	_, err := p.Seek(0, io.SeekStart)
	return err
}

var errWrong = errors.New("it is not what its digest says")

// download gets the rest of a blob and puts it in its place.
func (s *session) download(ctx context.Context, p *part) error {
	s.tell(p.d, p.have, false)
	if p.have < p.d.Size || p.d.Size == 0 {
		if err := s.rest(ctx, p); err != nil {
			return err
		}
	}
	if p.have != p.d.Size || p.sum.Digest() != p.d.Digest {
		return errWrong
	}
	return forkbox.Wrap(s.op, os.Rename(p.Name(), p.path))
}

func (s *session) rest(ctx context.Context, p *part) error {
	w := newWatch(ctx)
	defer w.close()
	rc, err := s.repo.Blobs().Fetch(w.ctx, p.d)
	if err != nil {
		return w.why(err)
	}
	defer rc.Close()
	if err := p.skip(rc); err != nil {
		return w.why(err)
	}
	body := &moving{r: rc, w: w, done: p.have, tell: func(done int64) { s.tell(p.d, done, false) }}
	n, err := io.Copy(io.MultiWriter(p.File, p.sum.Hash()), io.LimitReader(body, p.d.Size-p.have))
	p.have += n
	if err == nil && p.have < p.d.Size {
		err = io.ErrUnexpectedEOF
	}
	return w.why(err)
}

// skip goes to where the part ends. A registry that cannot do that sends
// everything again.
func (p *part) skip(rc io.ReadCloser) error {
	if p.have == 0 {
		return nil
	}
	seeker, ok := rc.(io.Seeker)
	if !ok {
		return p.startOver()
	}
	_, err := seeker.Seek(p.have, io.SeekStart)
	if err != nil && strings.Contains(err.Error(), "unexpected status code 200") {
		return p.startOver() // the answer from before goes on at its beginning
	}
	return err
}
