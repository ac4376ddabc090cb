package registry

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/oci"
)

// part is a blob that has come in part.
type part struct {
	*os.File
	d    oci.Descriptor
	path string // where it is to lie when it is whole
	sum  *oci.Digester
	have int64
}

func (s *session) pullBlob(ctx context.Context, l *oci.Layout, d oci.Descriptor) error {
	if l.CheckBlob(ctx, d) == nil {
		s.tell(d, d.Size, true)
		return nil
	}
	return s.retry(ctx, func(ctx context.Context) error {
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
func openPart(l *oci.Layout, d oci.Descriptor) (*part, error) {
	path, err := l.BlobPath(d.Digest)
	if err != nil {
		return nil, err
	}
	sum, err := d.Digest.Digester()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700) // of another kind than our own blobs, perhaps
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path+".part", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	p := &part{File: f, d: d, path: path, sum: sum}
	if p.have, err = io.Copy(p.sum, f); err == nil && p.have > d.Size {
		err = p.startOver()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

func (p *part) startOver() error {
	p.have = 0
	p.sum.Reset()
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
	rc, start, err := s.api.getBlob(w, p.d, p.have)
	if err != nil {
		return w.why(err)
	}
	defer rc.Close()
	if start != p.have {
		if err := p.startOver(); err != nil {
			return err
		}
	}
	body := &moving{r: rc, w: w, done: p.have, tell: func(done int64) { s.tell(p.d, done, false) }}
	n, err := io.Copy(io.MultiWriter(p.File, p.sum), io.LimitReader(body, p.d.Size-p.have))
	p.have += n
	if err == nil && p.have < p.d.Size {
		err = io.ErrUnexpectedEOF
	}
	return w.why(err)
}
