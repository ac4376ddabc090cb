package filecopy

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrNoSharing is told by who was asked to share blocks and cannot.
var ErrNoSharing = errors.New("the filesystem cannot share the blocks of files")

// ErrShorter is told of a file that is written to while it is copied.
var ErrShorter = errors.New("it became shorter while it was copied")

// Share has a file consist of the blocks of another.
func Share(dst, src int) error {
	return sharing(func() error { return unix.IoctlFileClone(dst, src) })
}

// sharing does it, and tells whether the filesystem cannot.
func sharing(do func() error) error {
	err := do()
	for errors.Is(err, unix.EINTR) {
		err = do()
	}
	for _, cannot := range []error{unix.EOPNOTSUPP, unix.ENOTTY, unix.EXDEV, unix.ENOSYS} {
		if errors.Is(err, cannot) {
			return ErrNoSharing
		}
	}
	return err
}

// TrySharing shares a block in a directory.
func TrySharing(dir string) error {
	var files [2]*os.File
	for i := range files {
		f, err := os.OpenFile(filepath.Join(dir, "trial."+rand.Text()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		defer os.Remove(f.Name())
		files[i] = f
	}
	if _, err := files[0].Write([]byte("x")); err != nil {
		return err
	}
	return Share(int(files[1].Fd()), int(files[0].Fd()))
}

// Copy copies a file and leaves holes where it has holes.
func Copy(ctx context.Context, dst, src int, size int64) error {
	if err := unix.Ftruncate(dst, size); err != nil {
		return err
	}
	for at := int64(0); at < size; {
		data, err := unix.Seek(src, at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // nothing but a hole is left
		}
		hole := size
		if err != nil {
			data = at // a filesystem that does not know of holes
		} else if hole, err = unix.Seek(src, data, unix.SEEK_HOLE); err != nil {
			return err
		}
		if err := copyRange(ctx, dst, src, data, min(hole, size)); err != nil {
			return err
		}
		at = hole
	}
	return nil
}

// pieceMax is how much is copied before looking whether it is still wanted.
const pieceMax = 16 << 20

func copyRange(ctx context.Context, dst, src int, from, to int64) error {
	for from < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		in, out := from, from
		n, err := unix.CopyFileRange(src, &in, dst, &out, int(min(to-from, pieceMax)), 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case cannotCopyRange(err):
			return copyBytes(ctx, dst, src, from, to)
		case err != nil:
			return err
		case n == 0:
			return ErrShorter
		}
		from += int64(max(n, 0))
	}
	return nil
}

func cannotCopyRange(err error) bool {
	for _, cannot := range []error{unix.EXDEV, unix.EINVAL, unix.ENOSYS, unix.EOPNOTSUPP, unix.EPERM} {
		if errors.Is(err, cannot) {
			return true
		}
	}
	return false
}

// copyBytes is for filesystems whose kernel does not copy for us.
func copyBytes(ctx context.Context, dst, src int, from, to int64) error {
	buf := make([]byte, min(to-from, 256<<10))
	for from < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := unix.Pread(src, buf[:min(int64(len(buf)), to-from)], from)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrShorter
		}
		if err := WriteAll(dst, buf[:n], from); err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// WriteAll writes all of p at a place.
func WriteAll(fd int, p []byte, at int64) error {
	for len(p) > 0 {
		n, err := unix.Pwrite(fd, p, at)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		p, at = p[n:], at+int64(n)
	}
	return nil
}

// ShareStart shares the first block of a file with an empty one, to find out
// whether that works. It does not have a whole file written to disk for it.
func ShareStart(dst, src int) error {
	var st unix.Stat_t
	if err := unix.Fstat(src, &st); err != nil {
		return err
	}
	part := unix.FileCloneRange{Src_fd: int64(src), Src_length: uint64(st.Blksize)}
	if st.Size <= int64(st.Blksize) {
		part.Src_length = 0 // all
	}
	return sharing(func() error { return unix.IoctlFileCloneRange(dst, &part) })
}
