package land

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// source is the content of a regular file that is put.
type source struct {
	ctx  context.Context
	item *Item
	file *os.File
}

// open calls Content, when a file is to be made of it.
func (s *source) open() (err error) {
	if s.item.Op != Put || !s.item.Node.Mode.IsRegular() || s.item.Content == nil {
		return nil
	}
	s.file, err = s.item.Content()
	return failed(opLand, s.item.Path, err)
}

func (s *source) close() {
	if s.file != nil {
		s.file.Close()
	}
}

// copyTo writes the content to a new file and tells the sum of it.
func (s *source) copyTo(dst *os.File, p *place) ([]byte, error) {
	if s.file == nil {
		sum := SumBytes(s.item.Bytes)
		return sum[:], writeAt(dst, s.item.Bytes, 0)
	}
	if s.clone(dst, p) {
		sum, err := Sum(s.ctx, dst)
		return sum[:], err
	}
	c := &copier{ctx: s.ctx, src: s.file, dst: dst, sum: newContentSum()}
	if err := c.run(); err != nil {
		return nil, err
	}
	sum := c.sum.sum()
	return sum[:], nil
}

// clone shares the blocks of the source, where the filesystem can do that.
func (s *source) clone(dst *os.File, p *place) bool {
	from, err := fstat(int(s.file.Fd()))
	if err != nil || from.Size == 0 || p.noClone[from.Dev] {
		return false
	}
	err = act("clone", func() error { return unix.IoctlFileClone(int(dst.Fd()), int(s.file.Fd())) })
	if err != nil {
		if p.noClone == nil {
			p.noClone = map[uint64]bool{}
		}
		p.noClone[from.Dev] = true
	}
	return err == nil
}

// copier copies a file and leaves holes where it has holes.
type copier struct {
	ctx      context.Context
	src, dst *os.File
	sum      *contentSum
	buf      []byte
	at       int64
}

func (c *copier) run() error {
	from, err := fstat(int(c.src.Fd()))
	if err != nil {
		return err
	}
	c.buf = make([]byte, min(max(from.Size+1, 512), 256<<10))
	for {
		data, err := unix.Seek(int(c.src.Fd()), c.at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return c.hole(from.Size) // nothing but a hole is left, or nothing
		}
		hole := int64(1<<63 - 1) // a filesystem that does not know of holes
		if err == nil {
			if err := c.hole(data); err != nil {
				return err
			}
			if hole, err = unix.Seek(int(c.src.Fd()), data, unix.SEEK_HOLE); err != nil {
				return err
			}
		}
		if end, err := c.data(hole); end || err != nil {
			return err
		}
	}
}

// hole skips to an offset, and has the sum know of the zeros.
func (c *copier) hole(to int64) error {
	if to <= c.at {
		return nil
	}
	c.sum.hole(to - c.at)
	c.at = to
	return act("truncate", func() error { return c.dst.Truncate(c.at) })
}

// data copies up to an offset, and says whether the file ended.
func (c *copier) data(to int64) (end bool, err error) {
	for c.at < to {
		if err := c.ctx.Err(); err != nil {
			return false, err
		}
		n, err := c.src.ReadAt(c.buf[:min(int64(len(c.buf)), to-c.at)], c.at)
		c.sum.Write(c.buf[:n])
		if werr := writeAt(c.dst, c.buf[:n], c.at); werr != nil {
			return false, werr
		}
		c.at += int64(n)
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

func writeAt(f *os.File, p []byte, at int64) error {
	if len(p) == 0 {
		return nil
	}
	return act("write", func() error {
		_, err := f.WriteAt(p, at)
		return err
	})
}
