package quota

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// hogs are ways to fill a disk. Each writes until it is refused, and tells the
// error and what it leaves open.
var hogs = map[string]func(dir string) (open *os.File, err error){
	"big file":          bigFile,
	"many small files":  smallFiles,
	"sparse file":       sparseFile,
	"fallocate":         allocated,
	"deleted but open":  deleted,
	"directories":       directories,
	"overwritten again": overwritten,
}

// enough is far more than any limit that is tested.
const enough = 32 << 20

var block = func() []byte {
	b := make([]byte, 64<<10)
	for i := range b {
		b[i] = byte(i*7 + i>>8) // compression would make it none
	}
	return b
}()

func bigFile(dir string) (*os.File, error) {
	f, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		return nil, err
	}
	return nil, errors.Join(fill(f), f.Close())
}

func fill(f *os.File) error {
	for range enough / len(block) {
		if _, err := f.Write(block); err != nil {
			return err
		}
	}
	return f.Sync()
}

func smallFiles(dir string) (*os.File, error) {
	for n := range enough / 512 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("small-%d", n)), block[:1000], 0o600); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// sparseFile has a hole of a terabyte before each of its blocks.
func sparseFile(dir string) (*os.File, error) {
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for n := range int64(enough / len(block)) {
		if _, err := f.WriteAt(block, n<<30); err != nil {
			return nil, err
		}
	}
	return nil, f.Sync()
}

func allocated(dir string) (*os.File, error) {
	f, err := os.Create(filepath.Join(dir, "allocated"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for n := range int64(enough >> 20) {
		if err := unix.Fallocate(int(f.Fd()), 0, n<<20, 1<<20); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func deleted(dir string) (*os.File, error) {
	f, err := os.Create(filepath.Join(dir, "deleted"))
	if err != nil {
		return nil, err
	}
	return f, errors.Join(os.Remove(f.Name()), fill(f))
}

func directories(dir string) (*os.File, error) {
	for n := range enough / 512 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("%0200d", n)), 0o700); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// overwritten is no hog: it writes the same place over and over, and has to be
// let. It ends as a big file.
func overwritten(dir string) (*os.File, error) {
	f, err := os.Create(filepath.Join(dir, "overwritten"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for range 256 {
		if _, err := f.WriteAt(block, 0); err != nil {
			return nil, fmt.Errorf("overwrite: %v", err) // not EDQUOT for every caller
		}
	}
	return nil, fill(f)
}

func full(err error) bool { return errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.ENOSPC) }

// neighbour is not limited, and writes as if nothing were.
func neighbour(t *testing.T, dir string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, "neighbour"), block, 0o600))
}
