package oci

import (
	"archive/tar"

	"github.com/forkbox/forkbox"
)

// guard counts what archives make of themselves, over all layers of an image.
type guard struct {
	Limits
	streamed int64 // bytes out of the decompressor
	made     int64 // bytes of files, which holes let grow beyond that
	entries  int64
}

func newGuard(l Limits) *guard { return &guard{Limits: l.orDefault()} }

// read is told of n more bytes from an archive that gave out of in.
func (g *guard) read(n, out, in int64) error {
	g.streamed += n
	if g.streamed > g.Bytes {
		return tooMuch("it has more than %d bytes", g.Bytes)
	}
	if out > g.RatioFrom && out/g.Ratio > in {
		return tooMuch("%d bytes of it claim to be more than %d", in, out)
	}
	return nil
}

// entry is told of one more entry.
func (g *guard) entry(h *tar.Header) error {
	g.entries++
	if g.entries > g.Entries {
		return tooMuch("it has more than %d entries", g.Entries)
	}
	if len(h.Name) > g.Name || len(h.Linkname) > g.Name {
		return tooMuch("%.60q… is a name of more than %d bytes", h.Name, g.Name)
	}
	var header int64
	for k, v := range h.PAXRecords {
		header += int64(len(k) + len(v))
	}
	if header > g.Header {
		return tooMuch("%q has more than %d bytes of attributes", h.Name, g.Header)
	}
	if h.Size < 0 {
		return forkbox.Errorf(forkbox.Invalid, opRead, "%q has a negative size", h.Name)
	}
	if h.Size > g.Bytes-g.made {
		return tooMuch("with %q it has more than %d bytes", h.Name, g.Bytes)
	}
	g.made += h.Size
	return nil
}

func tooMuch(format string, args ...any) error {
	return forkbox.Errorf(forkbox.Invalid, opRead, format, args...).
		Hint("archives are bounded, because a small one can fill a disk")
}

// Limits bound what an archive may make of itself. A zero means the default.
type Limits struct {
	Bytes   int64 // in all, decompressed
	Entries int64
	Name    int   // bytes of one path
	Header  int64 // bytes of what one entry says of itself
	// Ratio is how much larger the content may be than the archive, looked at
	// once there are RatioFrom bytes of it.
	Ratio     int64
	RatioFrom int64
}

// DefaultLimits let every image through that people make on purpose.
var DefaultLimits = Limits{
	Bytes:   128 << 30,
	Entries: 10_000_000,
	Name:    4095, // the kernel's own for a path
	Header:  1 << 20,
	Ratio:   1000, RatioFrom: 1 << 30,
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits
	l.Bytes = positive(l.Bytes, d.Bytes)
	l.Entries = positive(l.Entries, d.Entries)
	l.Name = positive(l.Name, d.Name)
	l.Header = positive(l.Header, d.Header)
	l.Ratio = positive(l.Ratio, d.Ratio)
	l.RatioFrom = positive(l.RatioFrom, d.RatioFrom)
	return l
}

func positive[N int | int64](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}
