package sums

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// Of is the sum of what a file holds. It reads no holes, and ends with ctx: who
// waits for the box that the file is of does not wait for a caller who is gone.
func Of(ctx context.Context, f *os.File) ([32]byte, error) {
	s, buf := New(), make([]byte, 4*zeroBlock)
	for at := int64(0); ; {
		data, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // nothing but a hole is left, or nothing
			info, err := f.Stat()
			if err == nil {
				s.Hole(max(0, info.Size()-at))
			}
			return s.Sum(), err
		}
		to := int64(1<<63 - 1) // a filesystem that does not know of holes
		if err == nil {
			s.Hole(data - at)
			at = data
			if to, err = unix.Seek(int(f.Fd()), data, unix.SEEK_HOLE); err != nil {
				return s.Sum(), err
			}
		}
		for at < to {
			if err := ctx.Err(); err != nil {
				return s.Sum(), err
			}
			n, err := f.ReadAt(buf[:min(int64(len(buf)), to-at)], at)
			s.Write(buf[:n])
			at += int64(n)
			if err == io.EOF {
				return s.Sum(), nil
			}
			if err != nil {
				return s.Sum(), err
			}
		}
	}
}

// maxPlain is up to what size a file is read to compare it with a plain sum.
const maxPlain = 1 << 30

// Plain is what receipts of earlier versions have of files with zeros in them.
func Plain(dir int, name string, o *files.Object) []byte {
	if !o.IsRegular() || o.Size > maxPlain {
		return nil
	}
	fd, err := files.Open(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxPlain)); err != nil {
		return nil
	}
	return h.Sum(nil)
}
