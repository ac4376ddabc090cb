package oci

import (
	"io"

	"github.com/klauspost/compress/zstd"
)

// sink compresses what is written to it and sums up both sides.
type sink struct {
	enc    *zstd.Encoder
	diff   *Digester
	packed *Digester
	size   counter
}

func newSink(w io.Writer) (*sink, error) {
	s := &sink{diff: NewDigester(), packed: NewDigester()}
	// One thread: with several, where a block ends depends on who was faster
	// in some versions of the library, and the digest would with it.
	enc, err := zstd.NewWriter(io.MultiWriter(w, s.packed, &s.size), zstd.WithEncoderConcurrency(1))
	s.enc = enc
	return s, err
}

func (s *sink) Write(p []byte) (int, error) {
	s.diff.Write(p)
	return s.enc.Write(p)
}

func (s *sink) finish() (Blob, error) {
	if err := s.enc.Close(); err != nil {
		return Blob{}, err
	}
	return Blob{
		Descriptor: Descriptor{
			MediaType: MediaTypeLayer,
			Digest:    s.packed.Digest(),
			Size:      int64(s.size),
		},
		DiffID: s.diff.Digest(),
	}, nil
}

// abandon gives back what the encoder holds; what it wrote is of no use.
func (s *sink) abandon() {
	s.enc.Reset(io.Discard)
	_ = s.enc.Close()
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
