package oci

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"

	"github.com/klauspost/compress/zstd"
)

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

// isSkippableFrame: a zstd stream may begin with a note for somebody else.
func isSkippableFrame(magic []byte) bool {
	return len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18})
}
