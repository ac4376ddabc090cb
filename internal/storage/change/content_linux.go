package change

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// comparer holds the buffers of content comparison.
type comparer struct{ a, b []byte }

// bufferSize is how much of a file is compared at once.
const bufferSize = 128 << 10

// same says whether two files have the same bytes. One that cannot be read is
// not the same, nor are two that may not be compared.
func (c *comparer) same(dirA int, nameA string, dirB int, nameB string, may func(a, b int) bool) (bool, error) {
	a, fa, err := openContent(dirA, nameA)
	if err != nil {
		return false, keepFatal(err)
	}
	defer unix.Close(a)
	b, fb, err := openContent(dirB, nameB)
	if err != nil {
		return false, keepFatal(err)
	}
	defer unix.Close(b)
	if fa.Size != fb.Size || !may(a, b) {
		return false, nil
	}
	if c.a == nil {
		c.a, c.b = make([]byte, bufferSize), make([]byte, bufferSize)
	}
	equal, err := c.sameBytes(a, b, fa.Size, fa.isSparse() && fb.isSparse())
	return equal && err == nil, keepFatal(err)
}

// openContent opens a file that lstat called regular, and checks that it
// still is.
func openContent(dir int, name string) (fd int, f file, err error) {
	fd, err = openFile(dir, name)
	if err != nil {
		return none, f, err
	}
	if err = unix.Fstat(fd, &f.Stat_t); err == nil && !f.isRegular() {
		err = errNotRegular
	}
	if err != nil {
		unix.Close(fd)
		return none, f, err
	}
	return fd, f, nil
}

// sameBytes reads both files side by side. It jumps over what is a hole in
// both: an empty disk image of a terabyte is compared at once.
func (c *comparer) sameBytes(a, b int, size int64, sparse bool) (bool, error) {
	for off := int64(0); off < size; {
		if sparse {
			off = min(nextData(a, off, size), nextData(b, off, size))
		}
		want := min(size-off, int64(len(c.a)))
		n, err := pread(a, c.a[:want], off)
		if err != nil {
			return false, err
		}
		m, err := pread(b, c.b[:want], off)
		if err != nil || n != m || !bytes.Equal(c.a[:n], c.b[:m]) {
			return false, err
		}
		if n == 0 {
			break // at the end, or truncated meanwhile
		}
		off += int64(n)
	}
	return true, nil
}

// nextData is where the next bytes that are not in a hole begin.
func nextData(fd int, off, size int64) int64 {
	data, err := unix.Seek(fd, off, unix.SEEK_DATA)
	switch {
	case err == unix.ENXIO:
		return size // only a hole is left
	case err != nil:
		return off // this filesystem does not tell
	}
	return data
}

// pread fills p as far as the file goes.
func pread(fd int, p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		m, err := unix.Pread(fd, p[n:], off+int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return n, err
		}
		if m == 0 {
			break
		}
		n += m
	}
	return n, nil
}

func keepFatal(err error) error {
	if fatal(err) {
		return err
	}
	return nil
}
