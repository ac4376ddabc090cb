package oci

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/forkbox/forkbox"
	"github.com/klauspost/compress/zstd"
)

// Layer is an archive to unpack.
type Layer struct {
	Descriptor Descriptor // of the blob; nothing is known of a plain tar
	DiffID     Digest     // of the tar in it
	open       func() (io.ReadCloser, error)
}

// PlainTar is a tar of a root filesystem, compressed or not.
func PlainTar(open func() (io.ReadCloser, error)) Layer { return Layer{open: open} }

// stream is the tar in a layer, compared with what is known of it.
type stream struct {
	file  io.Closer
	blob  *verifier
	inner io.ReadCloser // decompressed
	diff  *Digester
	want  Digest
	guard *guard
	out   int64
}

func (l Layer) stream(ctx context.Context, g *guard) (*stream, error) {
	file, err := l.open()
	if err != nil {
		return nil, err
	}
	s := &stream{file: file, want: l.DiffID, guard: g}
	if s.blob, err = newVerifier(&ctxReader{ctx, file}, l.Descriptor); err == nil {
		s.inner, err = decompress(s.blob)
	}
	if err == nil && l.DiffID != "" {
		s.diff, err = l.DiffID.Digester()
	}
	if err != nil {
		s.close()
		return nil, damaged(err)
	}
	return s, nil
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.inner.Read(p)
	s.out += int64(n)
	if s.diff != nil {
		s.diff.Write(p[:n])
	}
	if gerr := s.guard.read(int64(n), s.out, s.blob.n); gerr != nil {
		return n, gerr
	}
	return n, err
}

// finish reads what is left behind the end of the tar: only at the end of the
// blob it is known whether it was the right one.
func (s *stream) finish() error {
	if _, err := io.Copy(io.Discard, s); err != nil {
		return damaged(err)
	}
	if _, err := io.Copy(io.Discard, s.blob); err != nil {
		return damaged(err)
	}
	if s.diff != nil && s.diff.Digest() != s.want {
		return forkbox.Errorf(forkbox.Invalid, opRead, "the content of a layer is %s, and the image says %s", s.diff.Digest(), s.want)
	}
	return nil
}

func (s *stream) close() {
	if s.inner != nil {
		s.inner.Close()
	}
	s.file.Close()
}

// verifier reads a blob and compares it with its descriptor at the end.
type verifier struct {
	r    io.Reader
	want Descriptor
	sum  *Digester
	n    int64
}

func newVerifier(r io.Reader, want Descriptor) (*verifier, error) {
	v := &verifier{r: r, want: want}
	if want.Digest == "" {
		return v, nil // a plain tar
	}
	var err error
	if v.sum, err = want.Digest.Digester(); err != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, opRead, "%.100q: %w", want.Digest, err)
	}
	return v, nil
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.n += int64(n)
	if v.sum == nil {
		return n, err
	}
	v.sum.Write(p[:n])
	switch {
	case v.n > v.want.Size:
		return 0, forkbox.Errorf(forkbox.Invalid, opRead, "%s is larger than the %d bytes that it should have", v.want.Digest, v.want.Size)
	case err != io.EOF:
	case v.n < v.want.Size:
		return n, forkbox.Errorf(forkbox.Invalid, opRead, "%s has %d bytes and should have %d", v.want.Digest, v.n, v.want.Size)
	case v.sum.Digest() != v.want.Digest:
		return n, forkbox.Errorf(forkbox.Invalid, opRead, "%s has another content: its digest is %s", v.want.Digest, v.sum.Digest())
	}
	return n, err
}

// damaged turns what decompressors and the tar reader say into our words.
func damaged(err error) error {
	var e *forkbox.Error
	var file *fs.PathError // a failing disk, or a full one
	if err == nil || errors.As(err, &e) || errors.As(err, &file) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, tar.ErrHeader) {
		return forkbox.Errorf(forkbox.Invalid, opRead, "it is no archive, or a damaged one: %w", err).
			Hint("forkbox export and docker save write what can be imported")
	}
	return forkbox.Errorf(forkbox.Invalid, opRead, "the archive is damaged: %w", err)
}

// maxWindow is how far back a zstd stream may refer, which is memory that it
// makes us hold.
const maxWindow = 128 << 20

// decompress looks at how the content begins: what media types say of it is
// not always true.
func decompress(r io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	magic, err := buffered.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, err // not z: a nil pointer in an interface is not nil
		}
		return z, nil
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}), isSkippableFrame(magic):
		dec, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return dec.IOReadCloser(), nil
	}
	return io.NopCloser(buffered), nil
}

// isSkippableFrame: a zstd stream may begin with a note for other programs.
func isSkippableFrame(magic []byte) bool {
	return len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18})
}

// ctxReader ends when the context does.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
