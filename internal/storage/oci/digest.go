package oci

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Digest says what bytes a blob has: "sha256:" or "sha512:", and the sum in
// small hexadecimal digits. Code that takes one from outside calls
// [Digest.Validate] before it becomes part of a path.
type Digest string

const (
	sha256Name = "sha256"
	sha512Name = "sha512"
)

var (
	errDigestForm = errors.New("it is not a digest")
	errDigestKind = errors.New("it is a digest of a kind that is not known here")
)

// FromBytes is the digest of data, of the kind that we write.
func FromBytes(data []byte) Digest {
	sum := sha256.Sum256(data)
	return Digest(sha256Name + ":" + hex.EncodeToString(sum[:]))
}

// Algorithm is what is before the colon.
func (d Digest) Algorithm() string {
	name, _, _ := strings.Cut(string(d), ":")
	return name
}

// Encoded is what is behind the colon.
func (d Digest) Encoded() string {
	_, sum, _ := strings.Cut(string(d), ":")
	return sum
}

func (d Digest) String() string { return string(d) }

// Validate refuses everything that is not a digest we can compare with.
func (d Digest) Validate() error {
	name, sum, ok := strings.Cut(string(d), ":")
	if !ok {
		return errDigestForm
	}
	h := newHash(name)
	if h == nil {
		return errDigestKind
	}
	if len(sum) != hex.EncodedLen(h.Size()) || strings.Trim(sum, "0123456789abcdef") != "" {
		return errDigestForm
	}
	return nil
}

func newHash(algorithm string) hash.Hash {
	switch algorithm {
	case sha256Name:
		return sha256.New()
	case sha512Name:
		return sha512.New()
	}
	return nil
}

// Digester sums up what is written to it.
type Digester struct {
	hash.Hash
	algorithm string
}

// NewDigester is for a digest of the kind that we write.
func NewDigester() *Digester { return &Digester{sha256.New(), sha256Name} }

// Digester is for a digest of the same kind, to compare with.
func (d Digest) Digester() (*Digester, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return &Digester{newHash(d.Algorithm()), d.Algorithm()}, nil
}

// Digest is that of everything up to now.
func (s *Digester) Digest() Digest {
	return Digest(s.algorithm + ":" + hex.EncodeToString(s.Sum(nil)))
}

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
