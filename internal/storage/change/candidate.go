package change

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

const (
	// largeFile is up to what size files are compared for similarity.
	largeFile = 1 << 20
	// maxOpen is how many larger ones are held open, to be read only if
	// there is another of the same size.
	maxOpen = 64
	// maxChunks bounds the memory for fingerprints: eight bytes each.
	maxChunks = 4 << 20
	// maxSteps bounds the time for comparing them.
	maxSteps = 1 << 28
)

// spent is what finding renames has cost so far.
type spent struct{ open, chunks, steps int }

// candidate is a file that may be one end of a rename.
type candidate struct {
	path   string
	at     int  // the change that it belongs to
	inside bool // that is of a directory that the file was in
	mode   fs.FileMode
	size   int64
	sum    [sha256.Size]byte
	print  fingerprint
	file   *os.File // of a large one, until it was read
	taken  bool
}

func (c *candidate) base() string { return path.Base(c.path) }

func (c *candidate) close() {
	if c.file != nil {
		c.file.Close()
		c.file = nil
	}
}

// read makes a candidate of a file. One that cannot be read is none.
func (r *Renames) read(name string, size int64, open func() (*os.File, error)) (*candidate, error) {
	if size > largeFile && r.spent.open == maxOpen {
		r.skipped = true
		return nil, nil
	}
	f, err := open()
	if err != nil {
		return nil, passing(err)
	}
	c := &candidate{path: name, size: size}
	if size > largeFile {
		c.file = f
		r.spent.open++
		return c, nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, largeFile+1))
	if err != nil || int64(len(data)) != size {
		return nil, passing(err) // or it is being written to
	}
	c.sum = sha256.Sum256(data)
	r.fingerprint(c, data)
	return c, nil
}

func (r *Renames) fingerprint(c *candidate, data []byte) {
	if r.spent.chunks > maxChunks {
		r.skipped = true
		return
	}
	c.print = fingerprintOf(data, bytes.IndexByte(data[:min(len(data), 8000)], 0) < 0)
	r.spent.chunks += len(c.print)
}

// hash reads a large candidate now.
func (c *candidate) hash() bool {
	if c.file == nil {
		return c.sum != [sha256.Size]byte{}
	}
	defer c.close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(c.file, c.size+1))
	if err != nil || n != c.size {
		return false
	}
	h.Sum(c.sum[:0])
	return true
}

// passing keeps only what would fail the next file as well. That one file
// cannot be read is no reason to show nothing.
func passing(err error) error {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO} {
		if errors.Is(err, e) {
			return err
		}
	}
	return nil
}
