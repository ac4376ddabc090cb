// Package holes writes files with holes where their content is zeros, so that a
// sparse file that came as a stream of bytes is one again.
package holes

import (
	"bytes"
	"io"
	"os"
)

// block is how much has to be zeros for there to be a hole.
const block = 64 << 10

var zeros [block]byte

// Copy writes content into a file that was empty before. What is no regular file
// gets every byte.
func Copy(f *os.File, content io.Reader) error {
	if info, err := f.Stat(); err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		_, err := io.Copy(f, content)
		return err
	}
	buf := make([]byte, block)
	for size := int64(0); ; {
		n, err := readMuch(content, buf)
		if n > 0 && !bytes.Equal(buf[:n], zeros[:n]) {
			if _, err := f.WriteAt(buf[:n], size); err != nil {
				return err
			}
		}
		size += int64(n)
		if err == io.EOF {
			return f.Truncate(size)
		}
		if err != nil {
			return err
		}
	}
}

// readMuch fills a buffer. Unlike [io.ReadFull] it tells the end of the content from
// content that broke off.
func readMuch(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = r.Read(buf[n:])
		n += more
	}
	return n, err
}
