package main

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
