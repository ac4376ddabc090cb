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
