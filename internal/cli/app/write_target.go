package app

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// writeTarget is where a file that is to be written really lies: a link to it
// stays a link. special is what is there and cannot be replaced by a file.
func writeTarget(file string) (target string, special bool, err error) {
	target = file
	if real, err := filepath.EvalSymlinks(file); err == nil {
		target = real
	}
	info, err := os.Stat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return target, false, nil
	case err != nil:
		return target, false, err
	case info.IsDir():
		return target, false, errors.New("it is a directory")
	}
	return target, !info.Mode().IsRegular(), nil
}

// createPart makes a file beside target, with the rights that one made by any
// other program would have.
func createPart(target string) (*os.File, error) {
	dir, base := filepath.Split(target)
	name := filepath.Join(dir, "."+base+"."+rand.Text()[:8]+".part")
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// Written is the document of export --json.
type Written struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

// WriteWhole has write fill a file that appears under its name when it is
// complete. Whatever was there before stays until then, and if it fails.
func WriteWhole(file string, write func(io.Writer) error) error {
	op := "write " + terminal.Printable(file)
	target, special, err := writeTarget(file)
	if err != nil {
		return forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	}
	if special { // a device or a pipe: nothing that a file could take the place of
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return forkbox.Errorf(forkbox.Invalid, op, "%w", err)
		}
		defer f.Close()
		return write(f)
	}
	part, err := createPart(target)
	if err != nil {
		return forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	}
	defer os.Remove(part.Name()) // in vain once it has its name
	defer part.Close()
	if err := write(part); err != nil {
		return err
	}
	if err := part.Sync(); err != nil {
		return forkbox.Wrap(op, err)
	}
	return forkbox.Wrap(op, os.Rename(part.Name(), target))
}
