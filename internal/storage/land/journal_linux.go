package land

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// journal is a file of JSON lines that is written once, front to back, and
// then read in either direction. It is never held in memory.
type journal struct {
	file *os.File
	buf  []byte
	size int64 // with what is in buf
}

const journalBuffer = 64 << 10

func newJournal(dir *os.File, name string) (*journal, error) {
	f, err := files.Create(int(dir.Fd()), name)
	if err != nil {
		return nil, err
	}
	return &journal{file: f}, nil
}

// openJournal opens one that was written before; one that is not there is
// empty, for the crash came first.
func openJournal(dir *os.File, name string) (*journal, error) {
	fd, err := files.Open(int(dir.Fd()), name, unix.O_RDWR)
	if errors.Is(err, unix.ENOENT) {
		return &journal{}, nil
	}
	if err != nil {
		return nil, err
	}
	j := &journal{file: os.NewFile(uintptr(fd), name)}
	j.size, err = j.whole()
	return j, err
}

// whole is how far the file has whole lines: a crash may have cut the last.
func (j *journal) whole() (int64, error) {
	r := &backward{file: j.file}
	info, err := j.file.Stat()
	if err != nil {
		return 0, err
	}
	r.at = info.Size()
	for r.at > 0 {
		if err := r.fill(); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(r.buf, '\n'); i >= 0 {
			return r.at + int64(i) + 1, nil
		}
		r.buf = r.buf[:0]
	}
	return 0, nil
}

// add appends a line.
func (j *journal) add(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	j.buf = append(append(j.buf, line...), '\n')
	j.size += int64(len(line)) + 1
	if len(j.buf) < journalBuffer {
		return nil
	}
	return j.flush()
}

func (j *journal) flush() error {
	if len(j.buf) == 0 {
		return nil
	}
	err := files.Act("write journal", func() error {
		_, err := j.file.Write(j.buf)
		return err
	})
	j.buf = j.buf[:0]
	return err
}

func (j *journal) sync() error {
	if err := j.flush(); err != nil {
		return err
	}
	return files.SyncFile(j.file)
}

func (j *journal) close() {
	if j != nil && j.file != nil {
		j.file.Close()
	}
}

// lines reads one line after the other, then io.EOF.
type lines interface{ next() ([]byte, error) }

func (j *journal) forward(from, to int64) lines {
	if j.file == nil {
		return &forward{bufio.NewReader(bytes.NewReader(nil))}
	}
	return &forward{bufio.NewReaderSize(io.NewSectionReader(j.file, from, to-from), journalBuffer)}
}

func (j *journal) backward(from, to int64) lines {
	return &backward{file: j.file, from: from, at: to}
}

type forward struct{ r *bufio.Reader }

func (f *forward) next() ([]byte, error) {
	line, err := f.r.ReadBytes('\n')
	if err != nil {
		return nil, io.EOF
	}
	return line[:len(line)-1], nil
}

// backward reads a range of lines last one first.
type backward struct {
	file     *os.File
	from, at int64  // buf is what is in the file at "at"
	buf      []byte // ends at the end of a line
}

func (b *backward) next() ([]byte, error) {
	for {
		if n := len(b.buf); n > 0 {
			if i := bytes.LastIndexByte(b.buf[:n-1], '\n'); i >= 0 || b.at == b.from {
				line := b.buf[i+1 : n-1]
				b.buf = b.buf[:i+1]
				return line, nil
			}
		}
		if b.at == b.from {
			return nil, io.EOF
		}
		if err := b.fill(); err != nil {
			return nil, err
		}
	}
}

// fill puts the part of the file that is before buf in front of it.
func (b *backward) fill() error {
	n := min(b.at-b.from, journalBuffer)
	buf := make([]byte, int(n)+len(b.buf))
	if _, err := b.file.ReadAt(buf[:n], b.at-n); err != nil {
		return err
	}
	copy(buf[n:], b.buf)
	b.buf, b.at = buf, b.at-n
	return nil
}

// copyTo writes what the journal has so far to a new file.
func (j *journal) copyTo(dir int, name string) error {
	f, err := files.Create(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	return files.Act("write journal", func() error {
		_, err := io.Copy(f, io.NewSectionReader(j.file, 0, j.size))
		return err
	})
}
